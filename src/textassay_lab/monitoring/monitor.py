"""Watch a model while it trains: sample from it at some steps, and measure the samples against fixed real text.

The real text is tokenised and prepared once; a reading tokenises the samples and computes the rest. Values are those of
`textassay.measure` for the same texts, settings and seed, bit for bit. The model must not be trained on the real text:
against training text, memorisation looks like quality.

A reading never stops training, whatever the model writes: a metric that cannot be computed has no value, and the
reading says why. Only the first draw may raise, since a failure there is a mistake in the `sample` function.
"""

import json
import logging
import math
import random
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.corpus.documents import parse_json
from textassay.corpus.encoding import Vocabulary
from textassay.corpus.tokenizer import AUTO, TOKENIZERS, Tokenizer, resolve_tokenizer
from textassay.display import Displayed, columns_from
from textassay.errors import EmptyCorpusError, InputError, OptionError, OutputError, TextassayError
from textassay.estimate import Estimate
from textassay.inspection.beside_a_value import findings_beside, warning_of
from textassay.inspection.dependence import Examined
from textassay.inspection.within import examine_real
from textassay.metric.base import Effort, Metric, Shared
from textassay.metric.catalog import MetricLike, parse_metrics, split_names
from textassay.seeding import stream


@contextmanager
def own_random_state(seed: int) -> Iterator[None]:
    """Seed the random generators of Python, NumPy and PyTorch (if loaded); restore them afterwards."""
    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    torch = sys.modules.get("torch")
    devices = None
    if torch is not None:
        of_cpu = torch.get_rng_state()
        devices = torch.cuda if torch.cuda.is_available() and torch.cuda.is_initialized() else None
        of_devices = devices.get_rng_state_all() if devices else []
    try:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        if torch is not None:
            torch.manual_seed(seed)
        yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002
        if torch is not None:
            torch.set_rng_state(of_cpu)
            if devices:
                devices.set_rng_state_all(of_devices)


class OpenVocabulary(Vocabulary):
    """The tokens `known`, then `room` places for others; only the last admitted corpus can be decoded.

    Metrics need one vocabulary on both sides, and the prepared real side depends on it. Here real tokens keep their
    ids, and the ids after them are reassigned for each generated text, in order of first appearance: the same ids as
    from one `corpora_from_texts`.
    """

    def __init__(self, known: Sequence[str], room: int) -> None:
        self._known = {token: number for number, token in enumerate(known)}
        self._free = tuple(f"\0{place}" for place in range(room))
        self._fill((*known, *self._free))

    @property
    def n_known(self) -> int:
        return len(self._known)

    def admit(self, corpus: Corpus) -> Corpus | None:
        """Return `corpus` in this vocabulary; None, with nothing changed, if there is no room for its new tokens."""
        ids, first = np.unique(corpus.tokens, return_index=True)
        ids = ids[np.argsort(first)]
        tokens = corpus.vocabulary.decode(ids)
        new = [token for token in tokens if token not in self._known]
        if len(new) > len(self._free):
            return None
        for name in ("_ids", "hashes"):
            self.__dict__.pop(name, None)
        self._fill((*self._known, *new, *self._free[len(new) :]))
        places = {**self._known, **{token: len(self._known) + number for number, token in enumerate(new)}}
        table = np.zeros(len(corpus.vocabulary), dtype=np.int32)
        table[ids] = [places[token] for token in tokens]
        return replace(corpus, tokens=table[corpus.tokens], vocabulary=self)


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
        if message := warning_of(findings_beside(texts, within=self._within)):
            notes["texts"] = message
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


_FORMAT = "textassay monitor 1"


@dataclass(frozen=True)
class MonitorReading:
    """All metrics at one step.

    Attributes
    ----------
    step
        Training step, at least 0.
    values
        Metric to value; None if undefined.
    intervals
        Metric to low and high; None without an interval.
    seconds
        Wall time of the parts: ``draw``, and each family of metrics.
    notes
        ``draw`` or metric to a note: why there is no value, or its warnings; ``texts`` to what was found in them.
    """

    step: int
    values: Mapping[str, float | None]
    intervals: Mapping[str, tuple[float, float] | None]
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    notes: Mapping[str, str] = field(default_factory=dict)

    def logged(self, prefix: str = "textassay/") -> dict[str, float]:
        """Return all defined values under names for a trainer's log, such as ``textassay/dd``."""
        return {f"{prefix}{name}": value for name, value in self.values.items() if value is not None}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return the reading that ``dataclasses.asdict`` gave, after a round trip through JSON."""
        intervals = {name: None if ends is None else tuple(ends) for name, ends in document["intervals"].items()}
        return cls(**{**document, "intervals": intervals})


class ReadingFile:
    """Readings on disk, in the order they were taken: one JSON document a line, first the settings.

    A line is written by one call, so a killed run loses at most the line it was writing; an incomplete line is dropped
    when the file is read.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self._path = path
        self._settings = {"format": _FORMAT, **settings}
        self._header = _line(self._settings)
        self._size: int | None = None  # of what is whole; None where there is nothing yet
        self.readings: list[MonitorReading] = []
        if path.exists():
            self._read()

    def _read(self) -> None:
        try:
            whole, newline, cut_off = self._path.read_bytes().rpartition(b"\n")
            if not whole and self._header.startswith(cut_off):
                return
            header, *documents = [parse_json(line) for line in whole.split(b"\n")]
            self.readings = [MonitorReading.from_dict(document) for document in documents]
            of_monitor = header["format"] == _FORMAT
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            of_monitor = False
        if not of_monitor:
            raise InputError(f"{self._path} is not a file of monitor readings: move it, or use another folder")
        changed = [name for name, value in self._settings.items() if header.get(name) != value]
        if changed:
            raise InputError(
                f"the readings in {self._path} were taken with different settings ({', '.join(changed)}): "
                "delete the file, or use another folder"
            )
        self._size = len(whole + newline)

    def append(self, reading: MonitorReading) -> None:
        lines = (self._header if self._size is None else b"") + _line(asdict(reading))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab", buffering=0) as file:
                file.truncate(self._size or 0)  # what a killed run left half-written
                file.write(lines)
        except OSError as error:
            raise OutputError(f"cannot write the readings to {self._path}: {error.strerror or error}") from error
        self._size = (self._size or 0) + len(lines)
        self.readings.append(reading)


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False).encode("ascii") + b"\n"


Sampler = Callable[[int, int], Sequence[str] | Corpus]

METRICS = "dd,self-bleu(order=4),lm-score"
_LOGGER = logging.getLogger(__name__)


class TextMonitor(Displayed, document="textassay_lab.monitoring.document:monitor_document", hashable=True):
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

    def rows(self) -> list[dict[str, Any]]:
        """Return what `to_frame` has: for each step and metric a value, its interval, and what real text scores."""
        floor = self.floor.values if self.floor else {}
        rows = []
        for reading in self.readings:
            for name, value in reading.values.items():
                low, high = reading.intervals[name] or (None, None)
                numbers = {"value": value, "low": low, "high": high, "floor": floor.get(name)}
                rows.append({"step": reading.step, "metric": name, **numbers})
        return rows

    def _columns(self) -> dict[str, list[Any]]:
        missing_as_nan = [{name: math.nan if value is None else value for name, value in row.items()}
                          for row in self.rows()]  # fmt: skip
        return columns_from(missing_as_nan, ["step", "metric", "value", "low", "high", "floor"])

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
                f"the real text was tokenised by {self._tokenizer}, but the sample is plain text. Return a corpus of "
                "this tokenizer, or pass the tokenizer itself to the monitor"
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


def loop_monitors(monitor: TextMonitor, sample: Sampler) -> dict[str, Callable[[int], float | None]]:
    """Return the `monitors` of `textassay_lab.training.loop.train`: one a metric, with names such as ``textassay/dd``.

    All metrics of a step come from one reading.

    Parameters
    ----------
    monitor
        What to measure.
    sample
        Draws from the current weights; see `TextMonitor.measure`.
    """

    def value_of(name: str) -> Callable[[int], float | None]:
        def value(step: int) -> float | None:
            if step not in readings:
                readings.clear()
                readings[step] = monitor.measure(sample, step).values
            return readings[step][name]

        return value

    readings: dict[int, Mapping[str, float | None]] = {}
    return {f"textassay/{name}": value_of(name) for name in monitor.names}
