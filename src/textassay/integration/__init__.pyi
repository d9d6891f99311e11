from textassay.integration.evaluate import EvaluateMetric as EvaluateMetric
from textassay.integration.torchmetrics import TorchMetric as TorchMetric
from textassay.integration.tracked_comparison import log_comparison as log_comparison
