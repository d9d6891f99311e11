"""A metric as a metric of other libraries: `evaluate` and `torchmetrics`."""

from textassay.face import make_face

make_face(__name__)
