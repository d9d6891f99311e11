"""The study of the generators: every evaluator of every writer."""

from textassay.face import make_face

make_face(__name__)
