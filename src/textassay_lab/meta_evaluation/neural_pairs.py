"""Pairs of neural generators of known truth: text as language models write it, with exact probabilities.

One LSTM or GPT-2 fitted to all text stands for real text. The others are one fitted to a quarter of the text, a much
narrower one, the first at a lower temperature, an n-gram model, and one that learnt draws of the first instead of the
text. Their differences are spread over long contexts, not visible in counts of single n-grams, so a discriminator that
wins on n-gram pairs alone may lose here. Words that occur once count as ``<unk>``, since the output layer dominates the
cost.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary
from textassay.errors import TooFewSentencesError
from textassay.execution.threads import parallel_map
from textassay.ngram.model import NgramModel
from textassay.seeding import stream
from textassay_lab.generator.scored import AtTemperature, ScoredGenerator
from textassay_lab.generator.text_generator import SMALL
from textassay_lab.meta_evaluation.known_truth_pairs import KnownTruthPair
from textassay_lab.training.recipe import Recipe

if TYPE_CHECKING:
    from textassay_lab.generator.network import NetworkLanguageModel

_AT_LEAST = 20  # sentences
_MAX_LENGTH = 5000  # tokens; longer than any text of these models
_QUARTER = 0.25
_TEMPERATURE = 0.8
_GPT2 = Recipe(max_epochs=6, learning_rate=2e-3, schedule="linear", max_norm=1.0, warmup_steps=50)
_HEADS = 4

Network = Literal["lstm", "gpt2"]
NETWORKS: tuple[Network, ...] = ("lstm", "gpt2")


def neural_pairs(
    corpus: Corpus, seed: int, *, network: Network = "lstm", width: int = 128, recipe: Recipe | None = None
) -> list[KnownTruthPair]:
    """Return ``lstm-quarter``, ``-narrow``, ``-temperature-0.8``, ``-order-3`` and ``-learnt``, all with one p.

    `recipe`: how networks are trained; None: as is usual for `network`. Needs the extra ``neural``.
    """
    if len(corpus) < _AT_LEAST:
        raise TooFewSentencesError(f"neural worlds need at least {_AT_LEAST} texts, got {len(corpus)}")
    text = corpus.with_vocabulary(Vocabulary.build(corpus, min_count=2))
    order = stream(seed, "neural worlds", "order").permutation(len(text))
    text = text.take(order)
    quarter_text = text.take(np.arange(math.ceil(_QUARTER * len(text))))
    new = partial(_NEW[network], recipe=recipe, seed=seed)
    full, quarter, narrow = parallel_map(
        lambda task: task[0].fit(task[1]),
        [(new(width), text), (new(width), quarter_text), (new(max(1, width // 4)), text)],
    )
    drawn = full.sample(len(text), seed=int(stream(seed, "neural worlds", "learnt").integers(2**63)))
    generators: dict[str, tuple[ScoredGenerator, Corpus]] = {
        "quarter": (quarter, quarter_text),
        "narrow": (narrow, text),
        f"temperature-{_TEMPERATURE:g}": (AtTemperature(full, _TEMPERATURE), text),
        "order-3": (NgramModel(3, max_length=_MAX_LENGTH).fit(text), text),
        "learnt": (new(width).fit(drawn), drawn),
    }
    return [
        KnownTruthPair(name, name, network, full, generator, train=train)
        for name, (generator, train) in ((f"{network}-{kind}", each) for kind, each in generators.items())
    ]


def _lstm(width: int, *, recipe: Recipe | None, seed: int) -> "NetworkLanguageModel":
    from textassay_lab.generator.lstm_model import LstmModel

    return LstmModel(width, recipe=recipe or SMALL, max_length=_MAX_LENGTH, seed=seed)


def _gpt2(width: int, *, recipe: Recipe | None, seed: int) -> "NetworkLanguageModel":
    from textassay_lab.generator.gpt2_model import Gpt2Model

    return Gpt2Model(
        max(_HEADS, width),
        layers=2,
        heads=_HEADS,
        positions=_MAX_LENGTH + 1,
        recipe=recipe or _GPT2,
        max_length=_MAX_LENGTH,
        seed=seed,
    )


_NEW: dict[Network, "Callable[..., NetworkLanguageModel]"] = {"lstm": _lstm, "gpt2": _gpt2}
