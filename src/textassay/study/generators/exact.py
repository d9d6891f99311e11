"""Exact distance between a generator and the oracle, from both models' probabilities: total variation, Jensen-Shannon.

A conditional generator draws x with probability sum over c of p(c) p(x | c), where p(c) is the share of context c.
There are few different contexts, so the sum is computed.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", equation (2); Lin,
"Divergence measures based on the Shannon entropy", 1991.
"""

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.special import logsumexp

from textassay.corpus import COLUMN, Corpus, context_numbers
from textassay.execution import workers
from textassay.generator import AsDrawn, ScoredGenerator, load_model
from textassay.meta_evaluation import as_drawn_discrepancy
from textassay.seeding import stream
from textassay.study.generators.results import WorldTexts, stage_kind
from textassay.study.generators.texts import in_context
from textassay.study.network_stages import MODEL, Part
from textassay.study.stages import Stage, Work
from textassay.training import single_threaded

FloatArray = npt.NDArray[np.float64]

_LEVEL = 0.95


class AnswersAsDrawn:
    """A conditional generator as the mixture over the contexts of a corpus; a `ScoredGenerator`."""

    def __init__(self, model: Any, contexts: Corpus, *, temperature: float, max_length: int) -> None:
        numbers = context_numbers(contexts, model.attributes)
        _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        self.model, self.contexts = model, contexts
        self.temperature, self.max_length = temperature, max_length
        self._different = contexts.take(first)
        self._log_shares = np.log(counts / counts.sum())

    @property
    def name(self) -> str:
        """The model's."""
        return f"{self.model.name} in {len(self._different)} contexts"

    def sample(self, n: int, *, seed: int) -> Corpus:
        """Return `n` sentences, each given a random context."""
        rows = stream(seed, "contexts of answers").integers(len(self.contexts), size=n)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".* were cut at ", category=UserWarning)
            drawn: Corpus = self.model.sample(
                n, seed=seed, temperature=self.temperature, context=self.contexts.take(rows)
            )
        return drawn

    def log_prob(self, corpus: Corpus) -> FloatArray:
        """Return the log-probability of drawing each sentence, shape (N,), in nats; all words must be the model's."""
        ends = corpus.offsets[1:] + np.arange(len(corpus))
        begins = corpus.offsets[:-1] + np.arange(len(corpus))
        cut, too_long = corpus.lengths == self.max_length, corpus.lengths > self.max_length
        log_probs = np.full((len(self._different), len(corpus)), -np.inf)
        for row in range(len(self._different)):
            columns = {
                name: np.full(len(corpus), values[row])
                for name, values in self._different.columns.items()
                if name.startswith(COLUMN)
            }
            with_context = Corpus(
                corpus.tokens, corpus.offsets, corpus.vocabulary, corpus.texts, tokenizer=corpus.tokenizer,
                columns=columns,
            )  # fmt: skip
            scores = self.model.token_log_probs(with_context, temperature=self.temperature)
            scores[ends[cut]] = 0.0  # the end of a cut sentence is not drawn
            log_probs[row] = np.add.reduceat(scores, begins)
        mixture = logsumexp(log_probs + self._log_shares[:, None], axis=0)
        return np.where(too_long, -np.inf, mixture)


def jensen_shannon(log_ratios: tuple[FloatArray, FloatArray], *, level: float = _LEVEL) -> dict[str, float]:
    """Return the Jensen-Shannon divergence in bits, ``value``, ``low`` and ``high``, all in [0, 1].

    `log_ratios`: log p(x) - log q(x) of sentences drawn from p and from q, in nats, at least two each.
    """
    terms = [1 - np.logaddexp(0, -sign * ratio) / math.log(2) for sign, ratio in zip((1, -1), log_ratios, strict=True)]
    value = sum(float(side.mean()) for side in terms) / 2
    arm = float(stats.norm.ppf((1 + level) / 2)) * math.sqrt(sum(float(side.var(ddof=1)) / len(side) for side in terms))
    return {
        name: min(max(each, 0.0), 1.0)
        for name, each in zip(("value", "low", "high"), (value, value - arm / 2, value + arm / 2), strict=True)
    }


def exact_stage(
    name: str,
    original: Stage,
    trained: Stage,
    texts: WorldTexts,
    *,
    contexts: Part | None,
    temperature: float,
    n: int,
    seed: int,
) -> Stage:
    """Return the stage of the distance between the oracle and a generator; its result is as `Generated.exact` says."""

    def run(work: Work) -> dict[str, Any]:
        truth, model = (load_model(work.inputs[stage].folder / MODEL).model for stage in (original, trained))
        words, longest = texts.form.vocabulary, texts.longest
        q: ScoredGenerator = AsDrawn(model, words, temperature=temperature, max_length=longest)
        if contexts is not None:
            attributes = model.attributes  # type: ignore[attr-defined]
            context_corpus = in_context(contexts.load(work, texts.form), None, attributes)
            q = AnswersAsDrawn(model, context_corpus, temperature=temperature, max_length=longest)
        with workers(1), single_threaded():
            p = AsDrawn(truth, words, max_length=longest)
            discrepancy = as_drawn_discrepancy(p, q, n=n, max_length=longest, level=_LEVEL, seed=seed)
        return {**discrepancy.to_dict(), "jensen_shannon": jensen_shannon(discrepancy.log_ratios)}

    settings: dict[str, Any] = {"temperature": temperature, "n": n, "seed": seed, "longest": texts.longest}
    settings |= {} if contexts is None else {"contexts": contexts.settings}
    inputs = (original, trained, *(() if contexts is None else contexts.inputs))
    cost = 1.0 if contexts is None else 50.0
    return Stage(stage_kind("exact", texts.name), name, settings, run, tuple(dict.fromkeys(inputs)), cost)
