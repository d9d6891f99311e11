"""Trivial differences between real and generated text, found before measuring."""

from textassay.face import make_face

make_face(__name__)
