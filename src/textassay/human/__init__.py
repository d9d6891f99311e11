"""Studies with people."""
