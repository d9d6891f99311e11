"""Compiled kernels over n-grams of token ids."""

from textassay.face import make_face

make_face(__name__)
