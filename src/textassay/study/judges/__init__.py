"""The study of the judges."""

from textassay.face import make_face

make_face(__name__)
