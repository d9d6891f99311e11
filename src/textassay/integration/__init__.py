"""A metric as a metric of other libraries: `evaluate` and `torchmetrics`."""
