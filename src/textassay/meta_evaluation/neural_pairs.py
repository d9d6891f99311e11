"""Worlds whose generators are neural: text as language models write it, with exact sentence probabilities.

One LSTM fitted to all text stands for real text. It is judged against one fitted to a quarter of the text, a much
narrower one, itself at a lower temperature, and an n-gram model. What sets these apart is spread over long contexts
and not in the counts of single n-grams, so a judge that wins on n-gram worlds alone may lose here. Words that stand
there once count as ``<unk>``: the output layer is most of the work.
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
_MAX_LENGTH = 5000  # tokens; no sentence gets there
_QUARTER = 0.25
_TEMPERATURE = 0.8


def neural_pairs(corpus: Corpus, seed: int, *, width: int = 128, recipe: Recipe = SMALL) -> list[KnownTruthPair]:
    """Return worlds of LSTMs fitted to a corpus; needs the extra ``neural``.

    ``lstm-quarter``, ``lstm-narrow``, ``lstm-temperature-0.8`` and ``lstm-order-3``, all with the same p.
    """
    if len(corpus) < _AT_LEAST:
        raise TooFewSentencesError(f"neural worlds need at least {_AT_LEAST} sentences, got {len(corpus)}")
    text = corpus.with_vocabulary(Vocabulary.build(corpus, min_count=2))
    order = stream(seed, "neural worlds", "order").permutation(len(text))
    text = text.take(order)
    quarter = text.take(np.arange(math.ceil(_QUARTER * len(text))))
    models = [
        LstmModel(size, recipe=recipe, max_length=_MAX_LENGTH, seed=seed) for size in (width, width, max(1, width // 4))
    ]
    whole, part, narrow = parallel_map(
        lambda task: task[0].fit(task[1]), zip(models, (text, quarter, text), strict=True)
    )
    generated: dict[str, ScoredGenerator] = {
        "lstm-quarter": part,
        "lstm-narrow": narrow,
        f"lstm-temperature-{_TEMPERATURE:g}": AtTemperature(whole, _TEMPERATURE),
        "lstm-order-3": NgramModel(3, max_length=_MAX_LENGTH).fit(text),
    }
    return [KnownTruthPair(name, name, "lstm", whole, model) for name, model in generated.items()]
