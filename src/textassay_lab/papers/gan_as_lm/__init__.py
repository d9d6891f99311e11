"""The study of text GANs as language models."""
