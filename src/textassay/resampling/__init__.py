"""Intervals, p-values and power."""
