"""The laboratory of textassay: what reproduces four papers, and studies with people."""
