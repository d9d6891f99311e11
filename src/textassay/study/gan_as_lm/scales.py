"""Scales of the study of GANs as language models: text, networks, rounds, samples.

``tiny`` shows in minutes that everything works. ``laptop`` takes two cores 25 minutes. ``paper`` has the
published sizes, as far as there are any, and wants a GPU and text8.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from textassay.adversarial import LEAKGAN_PRESETS, SEQGAN_PRESETS, WGAN_PRESETS, LeakGanRecipe, SeqGanRecipe, WganRecipe
from textassay.study.presets import Network

WGAN_WINDOW = 7  # characters of the window that the paper reads the recurrent GAN in; ours is chosen


@dataclass(frozen=True)
class GanScale:
    """Sizes of the study."""

    name: str  # Such as ``laptop``
    # Characters that are read of each part; none for all
    n_train: int | None
    n_valid: int | None
    n_test: int | None
    # The language model, and the windows that it learns from
    lstm: Network
    lstm_length: int
    # SeqGAN's generator as it learns before the rounds, and the windows that both sides learn from
    generator: Network
    length: int
    # Its rounds, and how often in them, and in LeakGAN's, a model is kept and measured
    seqgan: SeqGanRecipe
    n_checkpoints: int
    # LeakGAN, which learns from the same windows
    leakgan_network: Mapping[str, Any]
    leakgan: LeakGanRecipe
    leakgan_runs: int  # Trainings of it
    runs: int  # Trainings of SeqGAN, each with its own pre-training
    # The recurrent GAN
    wgan_width: int
    wgan: WganRecipe
    wgan_runs: int  # Trainings of it
    window: int  # Characters of the windows that models with a softmax are measured in
    n_noise: int  # Characters of the test text that generators without a softmax are measured on, evenly spread
    n_windows: int
    n_window_samples: int
    # N up to which the stopping rule is followed, windows in each part of the text, and parts
    rule_samples: int
    most_samples: int = 128_000  # N up to which models with a softmax are followed
    # Windows of the study of lengths, each of which divides the longest; characters it is about; draws
    windows: tuple[int, ...] = (1, 2, 4, 7, 14, 28, 56)
    rule_rows: int = 16
    rule_parts: int = 4
    # N of table 1, and what a character that was never drawn has instead of probability 0
    n_samples: int = 2000
    floor: float = 1e-20


_SEQGAN = replace(SEQGAN_PRESETS["tiny"][1], learning_rate=1e-3)  # enough for characters: each training loses 0.1 bits
_WGAN = WGAN_PRESETS["tiny"][1]
_LEAKGAN = LEAKGAN_PRESETS["tiny"]

# What is measured, on one core of a shared machine: an LSTM learns 14,000 characters a second at width 256, 31,000 at
# 128, 37,000 at 64; a round of SeqGAN at width 128 takes 1 s; a round of the recurrent GAN, 100 updates at width 64,
# 0.2 s at length 1 and 0.7 s at length 7; 180,000 positions a second are drawn from it.
# laptop, in seconds of one core: LSTM 420; SeqGAN 3 x (190 before the rounds, 165 in them); LeakGAN 2 x 150, most of it
# three passes over the text; recurrent GAN 2 x 190, measured in 2 x 180; everything else 160. Together 2,700.
GAN_SCALES: Mapping[str, GanScale] = {
    "tiny": GanScale(
        name="tiny",
        n_train=150_000,
        n_valid=10_000,
        n_test=20_000,
        lstm=Network("tiny", {"width": 64, "max_epochs": 2}),
        lstm_length=50,
        generator=Network("tiny", {"batch_size": 64, "max_epochs": 2}),
        length=20,
        seqgan=replace(_SEQGAN, rounds=8, pretraining_rounds=2, n_negatives=500),
        n_checkpoints=2,
        leakgan_network=_LEAKGAN[0],
        leakgan=replace(_LEAKGAN[1], rounds=8),
        leakgan_runs=1,
        runs=3,
        wgan_width=64,
        wgan=replace(_WGAN, rounds=6),
        wgan_runs=1,
        window=100,
        n_noise=1120,
        n_windows=1120,
        n_window_samples=500,
        rule_samples=2000,
    ),
    "laptop": GanScale(
        name="laptop",
        n_train=None,
        n_valid=None,
        n_test=None,
        lstm=Network("small", {"dropout": 0.1, "max_epochs": 3}),
        lstm_length=100,
        generator=Network("tiny", {"width": 128, "batch_size": 64, "learning_rate": 5e-3}),
        length=20,
        seqgan=replace(_SEQGAN, rounds=150, pretraining_rounds=20),
        n_checkpoints=6,
        leakgan_network={**_LEAKGAN[0], "width": 64, "goal": 8},
        leakgan=replace(
            _LEAKGAN[1], rounds=24, pretraining_epochs=1, mle_every=15, n_negatives=1000, learning_rate=5e-3
        ),
        leakgan_runs=2,
        runs=3,
        wgan_width=64,
        wgan=replace(_WGAN, rounds=60),
        wgan_runs=2,
        window=1000,
        n_noise=4480,
        n_windows=2240,
        n_window_samples=1000,
        rule_samples=3000,
    ),
    "paper": GanScale(
        name="paper",
        n_train=None,
        n_valid=None,
        n_test=None,
        lstm=Network("paper", {"max_epochs": 2}),
        lstm_length=200,
        # 480 epochs of 10,000 windows are once through text8
        generator=Network(
            "tiny", {"width": 512, "embedding": 8, "batch_size": 64, "max_epochs": 1, "learning_rate": 1e-2}
        ),
        length=20,
        seqgan=SEQGAN_PRESETS["characters"][1],
        n_checkpoints=10,
        leakgan_network=LEAKGAN_PRESETS["paper"][0],
        leakgan=LEAKGAN_PRESETS["paper"][1],
        leakgan_runs=1,
        runs=3,
        wgan_width=512,
        wgan=WGAN_PRESETS["paper"][1],
        wgan_runs=1,
        window=1000,
        n_noise=44_800,  # 100 batches of 64 windows of 7
        n_windows=11_200,
        n_window_samples=2000,
        rule_samples=5000,
    ),
}
