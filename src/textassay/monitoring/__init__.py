"""Distances during training."""
