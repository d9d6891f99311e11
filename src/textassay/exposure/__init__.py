"""Exposure bias: EB-bleu, EB-C and EB-DD."""

from textassay.face import make_face

make_face(__name__)
