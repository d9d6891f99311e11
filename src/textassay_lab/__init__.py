"""The laboratory of textassay: what reproduces four papers, and studies with people; its names are textassay's, too."""

from textassay.face import make_face

make_face(__name__)
