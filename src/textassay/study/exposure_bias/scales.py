"""Scales of the study of exposure bias: texts, networks, sequences, runs.

``tiny`` shows in minutes that everything works. ``paper`` has the published sizes and networks, and wants a GPU and the
published texts, named as in `textassay.study.exposure_bias.texts.FILES`. ``laptop`` is what two cores do in two
hours; in seconds of one quiet core that multiplies bfloat16, of which each stage takes one, for one training of each
model and 3,000 pairs held back, where it has three and 10,000:

- level 1, models of real text: data model 200 (10,000 tokens a second, 8 epochs of 252,000), LSTM and Transformer-XL of
  WikiText-2 170 and 150, LSTM of Yelp 70, translation data model 400 (4,200 tokens a second, 4 epochs): 990;
- level 2, samples and EB-bleu: translations of 13,000 sources 120 and of the test set 55, 4 runs of EB-bleu of the
  Transformer-XL 560 (9,000 tokens a second), of the LSTMs 300, of position unigrams and perplexities 100: 1,130;
- level 3, models of samples: LSTM-512 270, LSTM-32 twice 100, translation 190, CoT 110 (400 steps), ScratchGAN 320
  (450 steps): 990;
- level 4, EB-C: 3 runs of 10,000 sequences a side of 3 models 250, damaged prefixes 150, translation 180, 1,000 a side
  of CoT and ScratchGAN 40; EB-DD 60; rounds of RankGAN 70, then its EB-C 30: 780.

On a machine that others used, too, all of these took 6,000: about 50 minutes of two cores, the longest of a level
first.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from textassay.study.presets import Contest, Network

CORRUPTION = (0.05, 0.1, 0.2, 0.3, 0.5)  # rates of figure 3; the paper does not say which it has


@dataclass(frozen=True)
class ExposureScale:
    """Sizes of the study."""

    name: str  # Such as ``laptop``
    # Text to how many of its lines are read, from the first on (pairs, of ``multi30k``; of ``emnlp_news``, of each
    # file); none for all
    most: Mapping[str, int | None]
    min_count: Mapping[str, int]  # Text to how often a word must stand in the training text to be in the vocabulary
    # Text to tokens at which all sentences are cut; of ``wikitext2``, tokens of a block
    sentence_length: Mapping[str, int]
    lengths: Mapping[str, tuple[int, ...]]  # Text to the prefix lengths of EB-bleu
    # Text to the network that EB-bleu is measured of; ``emnlp_news`` has the data model
    lstm: Mapping[str, Network]
    transformer_xl: Network
    data_model: Network  # Of the synthetic setting
    # Networks of the synthetic setting; the data model is as the first
    lstm_512: Network
    lstm_32: Network
    # Text to continuations and references of a run of EB-bleu, at most; runs
    n_bleu: Mapping[str, int]
    bleu_runs: int
    n_drawn: int  # Sentences that the data model writes to train on; a tenth more, to validate
    n_random: int  # The same of the random LSTM
    # Sequences a side of a run of EB-C, and runs
    n_sequences: int
    n_damaged: int  # Sequences of corrupted, shuffled and random prefixes
    runs: int
    # Whether runs have models of their own, trained from other seeds and, on what a model writes, on fresh draws: each
    # run of EB-C, and as many trainings of those whose EB-bleu is measured
    retrained: bool
    # What is not trained by maximum likelihood alone: ScratchGAN and CoT on what the data model writes; the rounds of
    # RankGAN, which go on from `lstm_32` on what the random LSTM writes
    scratchgan: Contest
    cot: Contest
    rankgan: Contest
    n_compared: int  # Sequences a side of a run of their EB-C
    n_dd: int  # Sentences a side of EB-DD
    n_fresh: int  # Sentences of an oracle that perplexities are measured on, and sentences that it is asked about
    translation: Network  # Both translation models
    byte_pairs: int  # Tokens of translation
    n_held_back: int  # Pairs that no translation model sees
    n_drawn_pairs: int | None  # Pairs that the translation model under test learns from; none for all
    translation_lengths: tuple[int, ...]  # Prefix lengths of translation
    # In which networks are trained, draw and are measured: ``auto`` is bfloat16 where the device has it
    precision: str = "auto"

    @property
    def trainings(self) -> int:
        """How often the models are trained whose EB-bleu is measured."""
        return min(self.runs, self.bleu_runs) if self.retrained else 1


_LENGTH = {"wikitext2": 50, "emnlp_news": 20, "yelp": 11}
_LENGTHS = {"wikitext2": (5, 10, 15, 20, 25, 30), "emnlp_news": (5, 10, 15), "yelp": (2, 4, 6, 8)}

EXPOSURE_SCALES: Mapping[str, ExposureScale] = {
    "tiny": ExposureScale(
        name="tiny",
        most={"wikitext2": 600, "emnlp_news": 1000, "yelp": 4000, "multi30k": 1500},
        min_count={"wikitext2": 2, "emnlp_news": 2, "yelp": 2},
        sentence_length=_LENGTH,
        lengths={"wikitext2": (5, 20), "emnlp_news": (5, 15), "yelp": (2, 8)},
        lstm={
            "wikitext2": Network("exposure-32", {"max_epochs": 4}),
            "yelp": Network("exposure-32", {"max_epochs": 4}),
        },
        transformer_xl=Network("tiny"),
        data_model=Network("exposure-512", {"max_epochs": 2}),
        lstm_512=Network("exposure-512", {"max_epochs": 2}),
        lstm_32=Network("exposure-32", {"max_epochs": 2}),
        n_bleu=dict.fromkeys(_LENGTH, 200),
        bleu_runs=3,
        n_drawn=1000,
        n_random=1000,
        n_sequences=200,
        n_damaged=100,
        runs=3,
        retrained=False,
        scratchgan=Contest("tiny", {}, {"rounds": 2, "iterations": 5, "batch_size": 16}),
        cot=Contest("tiny", {}, {"rounds": 2, "iterations": 5, "batch_size": 16}),
        rankgan=Contest(
            "tiny", {}, {"rounds": 2, "pretraining_rounds": 2, "n_negatives": 100, "batch_size": 16, "n_roll_outs": 1}
        ),
        n_compared=100,
        n_dd=200,
        n_fresh=500,
        translation=Network("tiny", {"max_epochs": 10}),
        byte_pairs=1000,
        n_held_back=100,
        n_drawn_pairs=None,
        translation_lengths=(1, 2, 3),
    ),
    "laptop": ExposureScale(
        name="laptop",
        most={"wikitext2": None, "emnlp_news": None, "yelp": None, "multi30k": None},
        min_count={"wikitext2": 3, "emnlp_news": 2, "yelp": 2},
        sentence_length=_LENGTH,
        lengths=_LENGTHS,
        lstm={
            "wikitext2": Network("small"),
            "yelp": Network("small"),
        },
        transformer_xl=Network("small", {"layers": 2, "width": 192}),
        data_model=Network("exposure-512", {"max_epochs": 8}),
        lstm_512=Network("exposure-512", {"max_epochs": 8}),
        lstm_32=Network("exposure-32", {"max_epochs": 8}),
        n_bleu={"wikitext2": 2000, "emnlp_news": 10_000, "yelp": 10_000},
        bleu_runs=3,
        n_drawn=12_000,
        n_random=20_000,
        n_sequences=10_000,
        n_damaged=2000,
        runs=3,
        retrained=True,
        scratchgan=Contest(
            "tiny",
            {"width": 64, "dimension": 32},
            # at a rate of 1e-2 it writes one word after 8 rounds
            {"rounds": 18, "batch_size": 64, "learning_rate": 1e-3, "dimension": 32, "width": 64},
        ),
        cot=Contest("tiny", {}, {"rounds": 20, "iterations": 20, "batch_size": 16}),
        rankgan=Contest("tiny", {}, {"rounds": 30, "pretraining_rounds": 20}),
        n_compared=1000,
        n_dd=4000,
        n_fresh=10_000,
        translation=Network("small", {"max_epochs": 4}),
        byte_pairs=4000,
        n_held_back=10_000,
        n_drawn_pairs=12_000,
        translation_lengths=(5, 10, 15),
    ),
    "paper": ExposureScale(
        name="paper",
        most={"wikitext2": None, "emnlp_news": None, "yelp": None, "multi30k": None},
        min_count={"wikitext2": 1, "emnlp_news": 1, "yelp": 1},
        sentence_length=_LENGTH,
        lengths=_LENGTHS,
        lstm={
            "wikitext2": Network("exposure-600"),
            "yelp": Network("exposure-600"),
        },
        transformer_xl=Network("paper"),
        data_model=Network("exposure-512"),
        lstm_512=Network("exposure-512"),
        lstm_32=Network("exposure-32"),
        n_bleu=dict.fromkeys(_LENGTH, 10_000),
        bleu_runs=10,
        n_drawn=268_000,
        n_random=10_000,
        n_sequences=100_000,
        n_damaged=100_000,
        runs=5,
        retrained=True,
        scratchgan=Contest("paper", {"layers": 1}),
        cot=Contest("paper"),
        rankgan=Contest("paper"),
        n_compared=100_000,
        n_dd=10_000,
        n_fresh=10_000,
        translation=Network("paper"),
        byte_pairs=8000,
        n_held_back=10_000,
        n_drawn_pairs=None,
        translation_lengths=(5, 10, 15),
    ),
}
