"""Texts as vectors."""

from textassay.face import make_face

make_face(__name__)
