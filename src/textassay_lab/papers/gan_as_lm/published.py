"""The published numbers of the paper on GANs as language models, as data.

Sources: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019: table 1, appendix A and,
of figure 2, the arrays in its authors' public code. Its rows of other language models are from: Krause et al., "Dynamic
Evaluation of Neural Sequence Models", 2018 (mLSTM with dynamic evaluation); Krause et al., "Multiplicative LSTM for
Sequence Modelling", 2016 (both other mLSTMs); Zilly et al., "Recurrent Highway Networks", 2017 (RHN); Chung, Ahn,
Bengio, "Hierarchical Multiscale Recurrent Neural Networks", 2017 (HM-LSTM); Cooijmans et al., "Recurrent Batch
Normalization", 2017 (BN LSTM).

``tiny`` shows in minutes that everything works. ``laptop`` takes two cores 25 minutes. ``paper`` has the
published sizes, as far as there are any, and wants a GPU and text8.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from textassay_lab.adversarial.leakgan import LeakGan, LeakGanRecipe
from textassay_lab.adversarial.seqgan import SeqGan, SeqGanRecipe
from textassay_lab.adversarial.wgan import Wgan, WganRecipe
from textassay_lab.papers.presets import Network, scales
from textassay_lab.papers.published_tables import parse_tables

N_TYPES = 27  # of text8: 26 letters and the space
EXACT, APPROXIMATE = "BPC", "approx. BPC"

MLE = "SeqGAN, pre-trained LM only"
SEQGAN = "SeqGAN, full adversarial training"
WGAN = "recurrent GAN without pre-training"
UNIFORM = "uniform distribution"

TABLE_1, FIGURE_2 = parse_tables("""
table 1: Bits per character of the test text, exact and approximated from N = 2000 draws
                                   |  BPC | approx. BPC
mLSTM + dynamic evaluation         | 1.19 |
Large mLSTM + emb + WN + VD        | 1.27 |
Large RHN                          | 1.27 |
LayerNorm HM-LSTM                  | 1.29 |
BN LSTM                            | 1.36 |
Unregularised mLSTM                | 1.40 |
SeqGAN, pre-trained LM only        | 1.93 |        2.05
SeqGAN, full adversarial training  | 2.06 |        2.25
recurrent GAN without pre-training |      |        3.31
uniform distribution               | 4.75 |
text8. SeqGAN is read in windows of 1000 characters, the recurrent GAN in windows of 7: these are not the same task.
The introduction of the paper says that GANs have substantially lower BPC, where higher is meant. LeakGAN was worse
than SeqGAN, without numbers.

figure 2: Change of the mean of N draws from that of N - 10: largest coordinate, averaged over positions
         | SeqGAN, full adversarial training | recurrent GAN without pre-training
N = 20   |                            0.1062 |                             0.1078
N = 50   |                            0.0345 |                             0.0352
N = 100  |                            0.0164 |                             0.0170
N = 200  |                           0.00806 |                            0.00826
N = 500  |                           0.00320 |                            0.00323
N = 1000 |                           0.00158 |                            0.00160
N = 1500 |                           0.00106 |                            0.00108
N = 1600 |                          0.000994 |                           0.000986
N = 2000 |                          0.000792 |                           0.000799
From the arrays in the authors' public code: one batch of 64 sequences. The curve is about 0.16 x 10 / N for any
generator whose output varies as much: it does not see the true error, which falls as 1 / sqrt(N).
""")
LITERATURE: Mapping[str, float] = {
    row: bits for row, bits in TABLE_1.column(EXACT).items() if row not in (MLE, SEQGAN, WGAN, UNIFORM)
}
BOUND_DRAWS = 4.3e6  # the paper's 4,297,078, in its digits
PUBLISHED_STOPS: Mapping[str, int] = {SEQGAN: 1580, WGAN: 1600}  # in the published arrays; the text says above 1600


def published_bpc(row: str, column: str) -> float | None:
    """Return a cell of table 1; raises KeyError where there is no such row or column."""
    values = dict(zip(TABLE_1.rows, TABLE_1.values, strict=True))[row]
    return dict(zip(TABLE_1.columns, values, strict=True))[column]


WGAN_WINDOW = 7  # characters of the window that the paper reads the recurrent GAN in; ours is chosen


@dataclass(frozen=True, kw_only=True)
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
    length: int = 20
    # Its rounds, and how often in them, and in LeakGAN's, a model is kept and measured
    seqgan: SeqGanRecipe
    n_checkpoints: int
    # LeakGAN, which learns from the same windows
    leakgan_network: Mapping[str, Any]
    leakgan: LeakGanRecipe
    leakgan_runs: int  # Trainings of it
    runs: int = 3  # Trainings of SeqGAN, each with its own pre-training
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


_SEQGAN = replace(
    SeqGan.presets["tiny"][1], adversarial_learning_rate=1e-3
)  # enough for characters: each training loses 0.1 bits
_WGAN = Wgan.presets["tiny"][1]
_LEAKGAN = LeakGan.presets["tiny"]

# What is measured, on one core of a shared machine: an LSTM learns 14,000 characters a second at width 256, 31,000 at
# 128, 37,000 at 64; a round of SeqGAN at width 128 takes 1 s; a round of the recurrent GAN, 100 updates at width 64,
# 0.2 s at length 1 and 0.7 s at length 7; 180,000 positions a second are drawn from it.
# laptop, in seconds of one core: LSTM 420; SeqGAN 3 x (190 before the rounds, 165 in them); LeakGAN 2 x 150, most of it
# three passes over the text; recurrent GAN 2 x 190, measured in 2 x 180; everything else 160. Together 2,700.
GAN_SCALES: Mapping[str, GanScale] = scales(
    GanScale,
    n_train=(150_000, None, None),
    n_valid=(10_000, None, None),
    n_test=(20_000, None, None),
    lstm=(
        Network("tiny", {"width": 64, "max_epochs": 2}),
        Network("small", {"dropout": 0.1, "max_epochs": 3}),
        Network("paper", {"max_epochs": 2}),
    ),
    lstm_length=(50, 100, 200),
    generator=(
        Network("tiny", {"batch_size": 64, "max_epochs": 2}),
        Network("tiny", {"width": 128, "batch_size": 64, "learning_rate": 5e-3}),
        # 480 epochs of 10,000 windows are once through text8
        Network("tiny", {"width": 512, "embedding_width": 8, "batch_size": 64, "max_epochs": 1, "learning_rate": 1e-2}),
    ),
    seqgan=(
        replace(_SEQGAN, rounds=8, pretraining_rounds=2, negatives=500),
        replace(_SEQGAN, rounds=150, pretraining_rounds=20),
        SeqGan.presets["characters"][1],
    ),
    n_checkpoints=(2, 6, 10),
    leakgan_network=(_LEAKGAN[0], {**_LEAKGAN[0], "width": 64, "goal": 8}, LeakGan.presets["paper"][0]),
    leakgan=(
        replace(_LEAKGAN[1], rounds=8),
        replace(_LEAKGAN[1], rounds=24, epochs=1, mle_every=15, negatives=1000, learning_rate=5e-3),
        LeakGan.presets["paper"][1],
    ),
    leakgan_runs=(1, 2, 1),
    wgan_width=(64, 64, 512),
    wgan=(replace(_WGAN, rounds=6), replace(_WGAN, rounds=60), Wgan.presets["paper"][1]),
    wgan_runs=(1, 2, 1),
    window=(100, 1000, 1000),
    n_noise=(1120, 4480, 44_800),  # paper: 100 batches of 64 windows of 7
    n_windows=(1120, 2240, 11_200),
    n_window_samples=(500, 1000, 2000),
    rule_samples=(2000, 3000, 5000),
)
