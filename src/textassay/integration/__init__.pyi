from textassay.integration.evaluate import EvaluateMetric as EvaluateMetric
from textassay.integration.torchmetrics import TorchMetric as TorchMetric
