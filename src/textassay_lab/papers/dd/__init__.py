"""The study of distributional discrepancy."""
