"""Real or generated? Classifiers of texts, and the family that chooses among them."""

from textassay.face import make_face

make_face(__name__)
