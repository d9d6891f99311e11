"""Trivial differences between real and generated text, found before measuring."""
