"""Runs of experiment trackers: MLflow, TensorBoard, Weights & Biases."""

from textassay.face import make_face

make_face(__name__)
