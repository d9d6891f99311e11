"""What draws texts: n-gram models, saved models, commands and endpoints."""

from textassay.face import make_face

make_face(__name__)
