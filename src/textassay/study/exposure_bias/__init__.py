"""The study of exposure bias."""

from textassay.face import make_face

make_face(__name__)
