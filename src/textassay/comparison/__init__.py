"""Many metrics over many generators; explanation and planning."""

from textassay.face import make_face

make_face(__name__)
