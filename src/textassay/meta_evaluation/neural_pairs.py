"""Pairs of neural generators of known truth: text as language models write it, with exact probabilities.

One LSTM fitted to all text stands for real text. The others are one fitted to a quarter of the text, a much narrower
one, the first at a lower temperature, and an n-gram model. Their differences are spread over long contexts, not visible
in counts of single n-grams, so a discriminator that wins on n-gram pairs alone may lose here. Words that occur once
count as ``<unk>``, since the output layer dominates the cost.
"""

import math

import numpy as np

from textassay.corpus import Corpus, Vocabulary
from textassay.errors import TooFewSentencesError
from textassay.execution import parallel_map
from textassay.generator import AtTemperature, NgramModel, ScoredGenerator
from textassay.meta_evaluation.known_truth_pairs import KnownTruthPair
from textassay.network import SMALL, LstmModel
from textassay.seeding import stream
from textassay.training import Recipe

_AT_LEAST = 20  # sentences
_MAX_LENGTH = 5000  # tokens; longer than any text of these models
_QUARTER = 0.25
_TEMPERATURE = 0.8


def neural_pairs(corpus: Corpus, seed: int, *, width: int = 128, recipe: Recipe = SMALL) -> list[KnownTruthPair]:
    """Return ``lstm-quarter``, ``lstm-narrow``, ``lstm-temperature-0.8`` and ``lstm-order-3``, all with one p.

    Needs the extra ``neural``.
    """
    if len(corpus) < _AT_LEAST:
        raise TooFewSentencesError(f"neural worlds need at least {_AT_LEAST} texts, got {len(corpus)}")
    text = corpus.with_vocabulary(Vocabulary.build(corpus, min_count=2))
    order = stream(seed, "neural worlds", "order").permutation(len(text))
    text = text.take(order)
    quarter_text = text.take(np.arange(math.ceil(_QUARTER * len(text))))
    models = [
        LstmModel(size, recipe=recipe, max_length=_MAX_LENGTH, seed=seed) for size in (width, width, max(1, width // 4))
    ]
    full, quarter_model, narrow = parallel_map(
        lambda task: task[0].fit(task[1]), zip(models, (text, quarter_text, text), strict=True)
    )
    generated: dict[str, ScoredGenerator] = {
        "lstm-quarter": quarter_model,
        "lstm-narrow": narrow,
        f"lstm-temperature-{_TEMPERATURE:g}": AtTemperature(full, _TEMPERATURE),
        "lstm-order-3": NgramModel(3, max_length=_MAX_LENGTH).fit(text),
    }
    return [KnownTruthPair(name, name, "lstm", full, model) for name, model in generated.items()]
