"""Metrics, one a file, and their catalogue."""
