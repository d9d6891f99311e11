"""The studies of the four papers."""

from textassay.face import make_face

make_face(__name__)
