"""Texts as token ids: readers, tokenisers, vocabulary, splits."""
