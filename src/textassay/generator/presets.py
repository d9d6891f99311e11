"""The presets of the trainable generators, by name.

``paper`` has the settings of Cai et al., "Distributional Discrepancy", or our best where that lacks the generator;
that of ``transformer-xl``, and the sizes of ``exposure-512``, ``exposure-32`` and ``exposure-600`` of ``lstm``, are
those of He et al., "Quantifying Exposure Bias for Neural Language Generation", which does not say how its LSTMs are
trained. ``small`` trains well on two processors within minutes, ``tiny`` within seconds, for trying things out.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from textassay.generator.lstm_presets import LSTM_PRESETS
from textassay.training import Recipe

_EXPOSURE = Recipe(max_epochs=12, learning_rate=2e-3, schedule="cosine", max_norm=5.0, precision="auto")

PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "gpt2": {
        "paper": {
            "width": 768,
            "layers": 12,
            "heads": 12,
            "dropout": 0.1,
            "batch_size": 128,
            "recipe": Recipe(max_epochs=40, learning_rate=2e-5),
        },
        "small": {
            "width": 256,
            "layers": 4,
            "heads": 4,
            "dropout": 0.1,
            "batch_size": 64,
            "recipe": Recipe(
                max_epochs=8, learning_rate=1e-3, schedule="cosine", max_norm=1.0, precision="auto", warmup_steps=200
            ),
        },
        "tiny": {
            "width": 32,
            "layers": 2,
            "heads": 2,
            "dropout": 0.0,
            "batch_size": 32,
            "recipe": Recipe(max_epochs=3, learning_rate=4e-3, schedule="cosine", warmup_steps=10, max_norm=1.0),
        },
    },
    "lstm": {
        **LSTM_PRESETS,
        "exposure-512": {"width": 512, "layers": 1, "dropout": 0.3, "batch_size": 64, "recipe": _EXPOSURE},
        "exposure-32": {
            "width": 32,
            "layers": 1,
            "dropout": 0.0,
            "batch_size": 64,
            "recipe": replace(_EXPOSURE, learning_rate=1e-2),
        },
        "exposure-600": {"width": 600, "layers": 3, "dropout": 0.3, "batch_size": 64, "recipe": _EXPOSURE},
    },
    "ngram": {"paper": {"order": 5}, "small": {"order": 3}, "tiny": {"order": 2}},
    "position-unigram": {"paper": {}, "small": {}, "tiny": {}},
    "scheduled-sampling": {  # those of the LSTM, with our own schedules
        "paper": {**LSTM_PRESETS["paper"], "mixing": "inverse-sigmoid(k=8000)"},  # half after k ln k steps
        "small": {
            **LSTM_PRESETS["small"],
            "mixing": "linear(k=1,c=0.00005,least=0.5)",
        },  # with least=0, samples degenerate
        "tiny": {**LSTM_PRESETS["tiny"], "mixing": "linear(k=1,c=0.0005,least=0.5)"},
    },
    "transformer-xl": {
        "paper": {
            "width": 410,
            "inner": 2100,
            "layers": 16,
            "heads": 10,
            "dropout": 0.1,
            "segment": 150,
            "memory": 150,
            "emptied": 0.03,
            "cutoffs": (20_000, 40_000, 200_000),
            "batch_size": 60,
            # of half of WikiText-103, 50 million words, 36 epochs are 200,000 steps
            "recipe": Recipe(max_epochs=36, learning_rate=2.5e-4, schedule="cosine", max_norm=0.25),
        },
        "small": {
            "width": 256,
            "inner": 1024,
            "layers": 4,
            "heads": 4,
            "dropout": 0.1,
            "segment": 64,
            "memory": 64,
            "batch_size": 32,
            "recipe": Recipe(
                max_epochs=8, learning_rate=1e-3, schedule="cosine", max_norm=0.25, precision="auto", warmup_steps=200
            ),
        },
        "tiny": {
            "width": 32,
            "inner": 64,
            "layers": 2,
            "heads": 2,
            "dropout": 0.0,
            "segment": 16,
            "memory": 16,
            "batch_size": 16,
            "recipe": Recipe(max_epochs=3, learning_rate=4e-3, schedule="cosine", warmup_steps=10, max_norm=1.0),
        },
    },
}
