"""Compiled kernels over n-grams of token ids."""
