"""Presets of the LSTM, shared by scheduled sampling and the conditional generators.

``paper`` follows Cai et al., "Distributional Discrepancy", as far as they say; the others are our own.
"""

from collections.abc import Mapping
from typing import Any

from textassay.training import Recipe

LSTM_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {
        "width": 512,
        "layers": 2,
        "dropout": 0.5,
        "spread": 0.05,
        "batch_size": 128,
        "recipe": Recipe(max_epochs=80, learning_rate=1e-3, max_norm=10.0),
    },
    "small": {
        "width": 256,
        "layers": 1,
        "dropout": 0.4,  # with less, it overfits before the learning rate has fallen
        "batch_size": 64,
        "recipe": Recipe(max_epochs=8, learning_rate=5e-3, schedule="cosine", max_norm=5.0, precision="auto"),
    },
    "tiny": {
        "width": 32,
        "layers": 1,
        "dropout": 0.0,
        "batch_size": 32,
        "recipe": Recipe(max_epochs=3, learning_rate=1e-2, schedule="linear", max_norm=5.0),
    },
}
