"""The real side of a monitor: real text that is prepared once, and estimates of samples against it."""

import math
import time
import warnings
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from textassay.corpus.corpus import Corpus
from textassay.errors import TextassayError
from textassay.estimate import Estimate
from textassay.inspection.dependence import Examined
from textassay.inspection.within import examine_real
from textassay.metric.base import Metric, Shared
from textassay_lab.monitoring.open_vocabulary import OpenVocabulary

_ROOM = 1 << 16  # new tokens in one sample; with more, the real text is prepared again


class RealSide:
    """Real text, and what metrics computed from it alone."""

    def __init__(self, real: Corpus, metrics: Sequence[Metric], seed: int) -> None:
        self._families: dict[str, list[Metric]] = {}
        for metric in metrics:
            self._families.setdefault(metric.declaration.family, []).append(metric)
        self._seed = seed
        self._prepare(real, _ROOM)

    def _prepare(self, real: Corpus, room: int) -> None:
        self._vocabulary = OpenVocabulary(real.vocabulary.tokens, room)
        self.real = replace(real, vocabulary=self._vocabulary)  # its tokens keep their ids
        self._within = examine_real(self.real)
        self._shared = Shared()

    def estimates(
        self, drawn: Corpus, *, seconds: MutableMapping[str, float], notes: MutableMapping[str, str], strict: bool
    ) -> dict[str, Estimate | None]:
        """Return the estimate of each metric, None if it has none."""
        estimates: dict[str, Estimate | None] = {}
        generated = self._admitted(drawn)
        texts = Examined.of(generated, self.real, within=self._within)
        for family in self._families.values():
            with self._shared.used(), timed(seconds, family[0].declaration.name):
                for metric in family:
                    estimates[metric.name] = None
                    try:
                        with noted(notes, metric.name):
                            estimate = metric.estimate_examined(texts, seed=self._seed)
                            if math.isfinite(estimate.value):
                                estimates[metric.name] = estimate
                    except Exception as error:  # training goes on, whatever the model writes
                        if strict and isinstance(error, TextassayError):
                            raise
                        notes[metric.name] = f"{type(error).__name__}: {error}"
                    if estimates[metric.name] is None:
                        notes.setdefault(metric.name, "it is undefined for this text")
            self._shared.forget(generated)
        return estimates

    def _admitted(self, drawn: Corpus) -> Corpus:
        generated = self._vocabulary.admit(drawn)
        if generated is None:
            known = self.real.vocabulary.tokens[: self._vocabulary.n_known]
            self._prepare(replace(self.real, vocabulary=OpenVocabulary(known, 0)), 2 * len(drawn.vocabulary))
            generated = self._vocabulary.admit(drawn)
        assert generated is not None
        return generated


@contextmanager
def timed(seconds: MutableMapping[str, float], part: str) -> Iterator[None]:
    """Add the wall time of the ``with`` block to `seconds` under `part`."""
    begin = time.perf_counter()
    try:
        yield
    finally:
        seconds[part] = seconds.get(part, 0.0) + time.perf_counter() - begin


@contextmanager
def noted(notes: MutableMapping[str, str], part: str) -> Iterator[None]:
    """Put the warnings of the ``with`` block into `notes` under `part`, each once, instead of showing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    texts = dict.fromkeys(str(warning.message) for warning in caught)
    if texts:
        notes[part] = "; ".join(texts)
