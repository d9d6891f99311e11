"""Exposure bias: EB-bleu and EB-C."""
