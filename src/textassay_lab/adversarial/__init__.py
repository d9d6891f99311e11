"""Generators trained against a discriminator."""

from textassay.face import make_face

make_face(__name__)
