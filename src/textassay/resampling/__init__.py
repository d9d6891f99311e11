"""Intervals, p-values and power."""

from textassay.face import make_face

make_face(__name__)
