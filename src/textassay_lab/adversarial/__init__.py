"""Generators trained against a discriminator."""
