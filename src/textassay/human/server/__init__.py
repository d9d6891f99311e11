"""The web server of a human study."""

from textassay.face import make_face

make_face(__name__)
