"""Texts as token ids: readers, tokenisers, vocabulary, splits."""

from textassay.face import make_face

make_face(__name__)
