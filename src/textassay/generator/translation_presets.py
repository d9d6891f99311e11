"""Sizes and recipes of translation models.

``paper`` is that of He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, whose public code
trains it on IWSLT14; ``small`` is trained in minutes on two processors, ``tiny`` is for trying things out.
"""

from collections.abc import Mapping
from typing import Any

from textassay.training import DecayRecipe

TRANSLATION_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {
        "width": 512,
        "inner": 1024,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "heads": 4,
        "dropout": 0.3,
        "smoothing": 0.1,
        "batch_tokens": 4096,
        "recipe": DecayRecipe(
            max_epochs=50,
            learning_rate=5e-4,
            schedule="inverse-sqrt",
            warmup_steps=4000,
            beta2=0.98,
            weight_decay=1e-4,
        ),
    },
    "small": {
        "width": 256,
        "inner": 512,
        "encoder_layers": 3,
        "decoder_layers": 3,
        "heads": 4,
        "dropout": 0.2,
        "smoothing": 0.1,
        "batch_tokens": 2048,
        "recipe": DecayRecipe(
            max_epochs=16,
            learning_rate=1e-3,
            schedule="cosine",  # so few steps end better when the rate has fallen to 0
            warmup_steps=400,
            beta2=0.98,
            weight_decay=1e-4,
            precision="auto",
        ),
    },
    "tiny": {
        "width": 32,
        "inner": 64,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "heads": 2,
        "dropout": 0.0,
        "smoothing": 0.0,
        "batch_tokens": 512,
        "recipe": DecayRecipe(max_epochs=3, learning_rate=4e-3, schedule="inverse-sqrt", warmup_steps=10, beta2=0.98),
    },
}
