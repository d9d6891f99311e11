"""Exposure bias: EB-bleu, EB-C and EB-DD."""
