"""The training loop: epochs, checkpoints, resuming, precision, processes."""

from textassay.face import make_face

make_face(__name__)
