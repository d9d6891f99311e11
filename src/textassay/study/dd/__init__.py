"""The study of distributional discrepancy."""

from textassay.face import make_face

make_face(__name__)
