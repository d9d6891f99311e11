"""Metrics, one a file, and their catalogue."""

from textassay.face import make_face

make_face(__name__)
