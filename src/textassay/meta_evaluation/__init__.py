"""Which metric deserves trust: correlations with people, known truth, damaged text."""

from textassay.face import make_face

make_face(__name__)
