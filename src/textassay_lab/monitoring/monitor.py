"""Watch a model while it trains: sample from it at some steps, and measure the samples against fixed real text.

The real text is tokenised and prepared once; a reading tokenises the samples and computes the rest. Values are those of
`textassay.measure` for the same texts, settings and seed, bit for bit. The model must not be trained on the real text:
against training text, memorisation looks like quality.

A reading never stops training, whatever the model writes: a metric that cannot be computed has no value, and the
reading says why. Only the first draw may raise, since a failure there is a mistake in the `sample` function.
"""

import logging
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from textassay.corpus.corpus import Corpus
from textassay.corpus.tokenizer import AUTO, TOKENIZERS, Tokenizer, resolve_tokenizer
from textassay.display import Displayed
from textassay.errors import EmptyCorpusError, InputError, OptionError, OutputError
from textassay.metric.base import Effort, Metric
from textassay.metric.catalog import MetricLike, parse_metrics, split_names
from textassay.seeding import stream
from textassay_lab.monitoring.random_state import own_random_state
from textassay_lab.monitoring.reading import MonitorReading, ReadingFile
from textassay_lab.monitoring.real_side import RealSide, noted, timed

Sampler = Callable[[int, int], Sequence[str] | Corpus]

METRICS = "dd,self-bleu(order=4),lm-score"
_LOGGER = logging.getLogger(__name__)


class TextMonitor(Displayed, document="textassay_lab.monitoring.document:monitor_document"):
    """Readings of a model in training against fixed real text.

    Parameters
    ----------
    real
        Real texts that the model is not trained on, such as its validation text: a corpus, or any form that `compare`
        takes. Of more than `n`, the seed chooses `n`, the same for all readings; with twice as many, the next `n` give
        the `floor`.
    metrics
        Names as in ``compare``, comma-separated or a list; not metrics that need more than generated and real text.
    n
        Texts to sample for a reading, at least 1; dd needs 50. Most metrics depend on it.
    effort
        Of dd. Values are comparable at one effort only.
    tokenizer, lowercase
        As for `corpora_from_texts`; by default those of `real` where it is a corpus, else ``auto``.
    seed
        Chooses the real texts, the samples (different at each step) and the partitions of the metrics (the same at each
        step).
    keep
        File to append readings to, one line of JSON each. Readings of an existing file are loaded.

    Raises
    ------
    InputError
        If the real text cannot be used, or `keep` names a file of another kind or of other settings.
    EmptyCorpusError, TooFewSentencesError
        If a metric needs more sentences than `n`, or than there are real ones.
    OptionError
        If a setting is unknown or out of range.

    Examples
    --------
    >>> from textassay import TextMonitor
    >>> monitor = TextMonitor(["a b c", "b c"] * 25, metrics="length", n=50)
    >>> monitor.measure(lambda n, seed: ["a b c"] * n, step=1).values
    {'length': 0.5}
    """

    def __init__(
        self,
        real: Any,
        *,
        metrics: str | Sequence[MetricLike] = METRICS,
        n: int = 1000,
        effort: Effort = "quick",
        tokenizer: str | Tokenizer | None = None,
        lowercase: bool = False,
        seed: int = 0,
        keep: Path | str | None = None,
    ) -> None:
        for setting, value, least in (("n", n, 1), ("seed", seed, 0)):
            if value < least:
                raise OptionError(f"{setting} must be at least {least}, got {value}")
        self.n = n
        self.seed = seed
        chosen = monitored_metrics(metrics, effort=effort)
        self.names = tuple(metric.name for metric in chosen)
        if tokenizer is None and isinstance(real, Corpus):
            tokenizer, lowercase = real.tokenizer.removesuffix("+lower"), real.tokenizer.endswith("+lower")
        self._tokenizer = AUTO if tokenizer is None else tokenizer
        self._lowercase = lowercase
        corpus = real if isinstance(real, Corpus) else self._tokenised(real)
        if len(corpus) == 0:
            raise EmptyCorpusError("a monitor needs at least one real text, got none")
        self._form = corpus.tokenizer
        if self._tokenizer == AUTO:  # samples are tokenised like the real text
            self._tokenizer = resolve_tokenizer(self._form.split("+")[0])
        elif isinstance(self._tokenizer, str) and self._tokenizer in TOKENIZERS:
            self._tokenizer = resolve_tokenizer(self._tokenizer)
        order = stream(seed, "monitor", "real").permutation(len(corpus))
        self._others = corpus.take(np.sort(order[n : 2 * n]))
        self._side = RealSide(corpus.take(np.sort(order[:n])), chosen, seed)
        self._logged_notes: set[str] = set()
        self._has_drawn = False
        if self.floor is None:  # errors about sizes are raised before training
            stand_in = corpus.take(np.arange(n) % len(corpus))
            self._side.estimates(stand_in, seconds={}, notes={}, strict=True)
        settings = {
            "metrics": list(self.names),
            "n": n,
            "effort": effort,
            "tokenizer": self._form,
            "seed": seed,
            "real": self._side.real.fingerprint,
            "version": version("textassay"),
        }
        self._file = None if keep is None else ReadingFile(Path(keep), settings)
        self._readings = {reading.step: reading for reading in self._file.readings} if self._file else {}

    @property
    def n_real(self) -> int:
        """Number of real texts that samples are measured against."""
        return len(self._side.real)

    @property
    def readings(self) -> tuple[MonitorReading, ...]:
        """All readings in order of their steps; the last one of each step."""
        return tuple(self._readings[step] for step in sorted(self._readings))

    @cached_property
    def floor(self) -> MonitorReading | None:
        """What `n` other real texts score; None with fewer than twice `n` real texts."""
        return self._reading(0, self._others, {}, {}, strict=True) if len(self._others) == self.n else None

    def measure(self, sample: Sampler, step: int) -> MonitorReading:
        """Sample `n` texts, measure them, keep the reading and return it.

        Parameters
        ----------
        sample
            A function of a number of texts and a seed (below 2**31, different at each step) that returns as many
            samples. Global random state is seeded for the call and restored afterwards.
        step
            Training step, at least 0.

        Raises
        ------
        InputError
            If the first sample does not have `n` texts; for later ones the reading says so.
        """
        if step < 0:
            raise OptionError(f"step must be at least 0, got {step}")
        seed = int(stream(self.seed, "monitor", step).integers(2**31))
        seconds: dict[str, float] = {}
        notes: dict[str, str] = {}
        with own_random_state(seed):
            try:
                with timed(seconds, "draw"), noted(notes, "draw"):
                    drawn = self._drawn(sample(self.n, seed))
                reading = self._reading(step, drawn, seconds, notes)
                self._has_drawn = True
            except Exception as error:  # such as running out of memory: training goes on
                if not self._has_drawn:
                    raise
                notes["draw"] = f"{type(error).__name__}: {error}"
                nothing = dict.fromkeys(self.names)
                reading = MonitorReading(step, nothing, nothing, seconds, notes)
        for part, note in reading.notes.items():
            self._say(part, step, note)
        self._readings[step] = reading
        if self._file is not None:
            try:
                self._file.append(reading)
            except OutputError as error:
                self._say("file", step, str(error))
        return reading

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each step and metric: ``step``, ``metric``, ``value``, ``low``, ``high``, ``floor``."""
        floor = self.floor.values if self.floor else {}
        rows = [
            (reading.step, name, value, *(reading.intervals[name] or (None, None)), floor.get(name))
            for reading in self.readings
            for name, value in reading.values.items()
        ]
        frame = pd.DataFrame(rows, columns=["step", "metric", "value", "low", "high", "floor"])
        return frame.astype({"step": int, **dict.fromkeys(["value", "low", "high", "floor"], float)})

    def _reading(
        self, step: int, drawn: Corpus, seconds: dict[str, float], notes: dict[str, str], *, strict: bool = False
    ) -> MonitorReading:
        estimates = self._side.estimates(drawn, seconds=seconds, notes=notes, strict=strict)
        values = {name: estimate.value if estimate else None for name, estimate in estimates.items()}
        ends = {name: estimate.interval if estimate else None for name, estimate in estimates.items()}
        intervals = {name: (interval.low, interval.high) if interval else None for name, interval in ends.items()}
        return MonitorReading(
            step,
            {name: values[name] for name in self.names},
            {name: intervals[name] for name in self.names},
            seconds,
            notes,
        )

    def _drawn(self, source: Any) -> Corpus:
        """Return the sample as a corpus over any vocabulary, tokenised like the real text."""
        if isinstance(source, Corpus):
            drawn = source if source.tokenizer == self._form else self._tokenised(source.texts)
        else:
            drawn = self._tokenised(source)
        if len(drawn) != self.n:
            raise InputError(f"sample must return {self.n} texts, got {len(drawn)}")
        return drawn

    def _tokenised(self, texts: Any) -> Corpus:
        if isinstance(self._tokenizer, str) and self._tokenizer not in TOKENIZERS and hasattr(self, "_form"):
            raise InputError(
                f"the real text was tokenised by {self._tokenizer}, the sample is plain text: return a corpus of this "
                "tokenizer, or pass the tokenizer itself to the monitor"
            )
        return Corpus.from_texts(texts, tokenizer=self._tokenizer, lowercase=self._lowercase)

    def _say(self, part: str, step: int, note: str) -> None:
        """Log a note once, whatever numbers it holds."""
        kind = f"{part} {re.sub(r'[0-9]+', '', note)}"
        if kind not in self._logged_notes:
            self._logged_notes.add(kind)
            _LOGGER.warning("monitor, %s at step %d: %s", part, step, note)


def monitored_metrics(metrics: str | Sequence[MetricLike], *, effort: Effort = "quick") -> list[Metric]:
    """Return the metrics named; raise for one that needs more than generated and real text."""
    chosen = parse_metrics(split_names(metrics) if isinstance(metrics, str) else metrics, effort=effort)
    for metric in chosen:
        needs = ("log-probs",) if metric.settings.get("model") == "self" else metric.declaration.needs
        if needs:
            raise OptionError(f"{metric.name} needs {' and '.join(needs)}, which a monitor does not have")
    return chosen
