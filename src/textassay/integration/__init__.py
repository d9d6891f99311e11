"""Results as other libraries take them: runs of trackers, metrics of `evaluate` and `torchmetrics`."""

from textassay.face import make_face

make_face(__name__)
