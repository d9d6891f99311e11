"""Where work runs: threads, the device of networks, and the nodes of a Ray cluster."""

from textassay.face import make_face

make_face(__name__)
