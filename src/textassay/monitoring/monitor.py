"""Watch a model while it trains: draw from it at some steps, and measure the draws against the same real text.

The real text is tokenised and prepared once; a reading then tokenises the draws and computes what depends on them. The
values are those that `textassay.measure` gives for the same texts, settings and seed, bit for bit. The real text must
be text that the model is not trained on: against training text, memorisation reads as quality.

A reading never stops a training, whatever the model writes: a metric that cannot be computed has no value, and the
reading says why. Only the first draw may raise, since what fails there is not the model but how it is asked.
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

from textassay.corpus import AUTO, TOKENIZERS, Corpus, Tokenizer, resolve_tokenizer
from textassay.errors import EmptyCorpusError, InputError, OptionError, OutputError
from textassay.metric import CATALOG, Effort, LmScore, Metric, parse_metrics, split_names
from textassay.monitoring.random_state import own_random_state
from textassay.monitoring.reading import MonitorReading, ReadingFile
from textassay.monitoring.real_side import RealSide, noted, timed
from textassay.seeding import stream

Sampler = Callable[[int, int], Sequence[str] | Corpus]

METRICS = "dd,self-bleu(order=4),lm-score"
_LOGGER = logging.getLogger(__name__)


class TextMonitor:
    """Readings of a model in training against fixed real text.

    Parameters
    ----------
    real
        Real sentences that the model is not trained on, such as its validation text: a corpus, or what
        `textassay.corpus.texts.as_texts` takes. Of more than `n`, so many are chosen by the seed, the same for all
        readings; where there are twice as many, the next `n` give the `floor`.
    metrics
        Names as ``compare`` takes them, comma-separated or one by one; not those that need more than two texts.
    n
        Sentences to draw for a reading, at least 1; dd needs 50. Most metrics move with it.
    effort
        Of dd. Values are comparable at one effort only.
    tokenizer, lowercase
        As for `corpora_from_texts`; by default those of `real` where it is a corpus, else ``auto``.
    seed
        Decides which real sentences, which draws (others each step) and the partitions of the metrics (the same each
        step).
    keep
        File that readings are added to, one line of JSON each. One that is there goes on; its readings are read.

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
        metrics: str | Sequence[str] = METRICS,
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
        given = real if isinstance(real, Corpus) else self._tokenised(real)
        if len(given) == 0:
            raise EmptyCorpusError("a monitor needs real text, the real corpus has no sentence")
        self._form = given.tokenizer
        if self._tokenizer == AUTO:  # what is drawn has the tokens that were chosen for the real text
            self._tokenizer = resolve_tokenizer(self._form.split("+")[0])
        elif isinstance(self._tokenizer, str) and self._tokenizer in TOKENIZERS:
            self._tokenizer = resolve_tokenizer(self._tokenizer)
        order = stream(seed, "monitor", "real").permutation(len(given))
        self._others = given.take(np.sort(order[n : 2 * n]))
        self._side = RealSide(given.take(np.sort(order[:n])), chosen, seed)
        self._said: set[str] = set()
        self._has_drawn = False
        if self.floor is None:  # what a metric has to say of the sizes, it says before the training
            stand_in = given.take(np.arange(n) % len(given))
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
        """Real sentences that draws are measured against."""
        return len(self._side.real)

    @property
    def readings(self) -> tuple[MonitorReading, ...]:
        """All readings in order of their steps; of a step that was read again, the last."""
        return tuple(self._readings[step] for step in sorted(self._readings))

    @cached_property
    def floor(self) -> MonitorReading | None:
        """What `n` other real sentences score; None where there are fewer than twice `n` real sentences."""
        return self._reading(0, self._others, {}, {}, strict=True) if len(self._others) == self.n else None

    def measure(self, sample: Sampler, step: int) -> MonitorReading:
        """Draw `n` sentences, measure them, keep the reading and return it.

        Parameters
        ----------
        sample
            From a number of sentences and a seed, below 2**31 and another one each step, to so many drawn sentences.
            Global random state is seeded for it, and afterwards is as it was.
        step
            Of the training, at least 0.

        Raises
        ------
        InputError
            If the first draw is not `n` sentences; of later ones the reading says so.
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
            except Exception as error:  # such as memory that ran out: the training goes on
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
        found = self._side.estimates(drawn, seconds=seconds, notes=notes, strict=strict)
        values = {name: estimate.value if estimate else None for name, estimate in found.items()}
        ends = {name: estimate.interval if estimate else None for name, estimate in found.items()}
        intervals = {name: (interval.low, interval.high) if interval else None for name, interval in ends.items()}
        return MonitorReading(
            step,
            {name: values[name] for name in self.names},
            {name: intervals[name] for name in self.names},
            seconds,
            notes,
        )

    def _drawn(self, source: Any) -> Corpus:
        """Return what was drawn as a corpus over any vocabulary, tokenised as the real text is."""
        if isinstance(source, Corpus):
            drawn = source if source.tokenizer == self._form else self._tokenised(source.texts)
        else:
            drawn = self._tokenised(source)
        if len(drawn) != self.n:
            raise InputError(f"the monitor asked for {self.n} sentences, got {len(drawn)}")
        return drawn

    def _tokenised(self, texts: Any) -> Corpus:
        if isinstance(self._tokenizer, str) and self._tokenizer not in TOKENIZERS and hasattr(self, "_form"):
            raise InputError(
                f"the real text was tokenised by {self._tokenizer}, what was drawn is not: draw a corpus of this "
                "tokenizer, or give the monitor the tokenizer itself"
            )
        return Corpus.from_texts(texts, tokenizer=self._tokenizer, lowercase=self._lowercase)

    def _say(self, part: str, step: int, note: str) -> None:
        """Tell the log what is worth knowing, once; numbers in it make no difference."""
        kind = f"{part} {re.sub(r'[0-9]+', '', note)}"
        if kind not in self._said:
            self._said.add(kind)
            _LOGGER.warning("monitor, %s at step %d: %s", part, step, note)


def monitored_metrics(metrics: str | Sequence[str], *, effort: Effort = "quick") -> list[Metric]:
    """Return the metrics that `metrics` names, as `TextMonitor` takes them."""
    chosen = parse_metrics(split_names(metrics) if isinstance(metrics, str) else metrics, effort=effort)
    for metric in chosen:
        needs = CATALOG[metric.name.split("(")[0]].needs
        if isinstance(metric, LmScore) and metric.model == "self":
            needs = ("log-probs",)
        if needs:
            raise OptionError(f"{metric.name} needs {' and '.join(needs)}, which a monitor does not have")
    return chosen
