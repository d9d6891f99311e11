"""Generated text that a comparison draws by itself, from models and commands.

As many texts as there are real ones are drawn first, then twice as many, and so on, until the last doubling raised dd
by no more than its own standard error, or the budget is spent. All generators draw as many as the one that needs most,
so that their values can be compared. For that decision dd is measured at the effort ``quick``, against the same real
text. What is drawn depends on the generator, its name and the seed, never on how much
is drawn: a model draws blocks of `BLOCK` texts, each with a seed of its own, and the first texts of a block do not
depend on its size.

In a folder, draws are kept as JSON lines, `BLOCK` by `BLOCK`, beside a document with their checksum, seed and the key
of the generator. They are used again, and continued, by whatever call draws the same.
"""

import hashlib
import json
import math
import os
import re
import time
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from textassay.comparison.draw import TIMES_REAL, Draw, Stopped
from textassay.comparison.explanation import CurvePoint
from textassay.comparison.measure import Progress
from textassay.corpus import Corpus, parse_json
from textassay.errors import InputError, OptionError, OutputError, TextassayError
from textassay.seeding import stream
from textassay.storage import atomic_write

if TYPE_CHECKING:
    from textassay.comparison.learning_curve import Judgement, Rise
    from textassay.generator import CommandLines, ExternalCommand

BLOCK = 500  # texts that are drawn, and kept, together
CALL = 10_000  # most texts of one call of a command
PATIENCE = 600.0  # seconds that a command may print nothing
MOST = 100_000  # the most that is drawn where no budget is given
DRAWS = "draws"  # the folder within that of the results
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_BUDGET = re.compile(r"(\d+)|(\d+(?:\.\d+)?)([smh])")
_SAFE = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 60

FloatArray = npt.NDArray[np.float64]


class Source(Protocol):
    """What may stand in place of generated texts: it draws them."""

    def sample(self, n: int, *, seed: int) -> Any:
        """Return `n` texts, of which the first k do not depend on n; equal seeds give equal texts."""
        ...


@dataclass(frozen=True)
class Budget:
    """How much may be drawn from each generator: texts, and seconds of drawing; None where there is no limit."""

    texts: int | None
    seconds: float | None

    @classmethod
    def of(cls, budget: "int | str | Budget | None", n_real: int) -> "Budget":
        """Return what `budget` says, such as 100000, ``"10m"`` or ``"100000,600s"``; by default, from `n_real`."""
        if isinstance(budget, Budget):
            return budget
        if budget is None:
            return cls(max(n_real, min(TIMES_REAL * n_real, MOST)), None)
        texts, seconds = parse_budget(str(budget))
        return cls(texts, seconds)

    def __str__(self) -> str:
        parts = [] if self.texts is None else [str(self.texts)]
        return ",".join([*parts, *([] if self.seconds is None else [f"{self.seconds:g}s"])])


Judge = Callable[[str, Sequence[str]], "Judgement"]  # generator and its texts to dd


def parse_budget(text: str) -> tuple[int | None, float | None]:
    """Return the texts and the seconds that a budget such as ``100000``, ``10m`` or ``100000,600s`` lets."""
    texts, seconds = None, None
    for part in text.split(","):
        match = _BUDGET.fullmatch(part.strip())
        if match is None or (texts if match[1] else seconds) is not None:
            raise OptionError(
                f"budget must be texts or seconds, such as 100000, 600s, 10m or '100000,10m', got '{text}'"
            )
        if match[1]:
            texts = int(match[1])
        else:
            seconds = float(match[2]) * _SECONDS[match[3]]
    for value in (texts, seconds):
        if value is not None and not value > 0:
            raise OptionError(f"budget must be above 0, got '{text}'")
    return texts, seconds


def check_budget(text: str) -> None:
    """Raise unless `text` is a budget."""
    parse_budget(text)


def names_model(source: Any) -> bool:
    """Return whether `source` is the name of a model or command, rather than that of a file of texts."""
    if not isinstance(source, str | os.PathLike):
        return False
    name = os.fspath(source)
    if name.startswith(("pretrained:", "command:")):
        return True
    if re.fullmatch(r"random-lstm(:\d+)?", name):
        return not Path(name).exists()
    return any((Path(name) / file).is_file() for file in ("model.json", "training.json", "config.json"))


def is_source(value: Any) -> bool:
    """Return whether texts can be drawn from `value`: a generator, or the name of one; tables are texts."""
    return names_model(value) or (callable(getattr(value, "sample", None)) and not hasattr(value, "__len__"))


def open_source(value: Any) -> Source:
    """Return the generator that `value` is or names."""
    if not names_model(value):
        return cast(Source, value)
    from textassay.generators import from_pretrained

    name = os.fspath(value)
    if (Path(name) / "config.json").is_file() and not (Path(name) / "model.json").is_file():
        raise InputError(
            f"{name} is not a model of 'textassay train': if it is one of transformers, write pretrained:{name}"
        )
    return from_pretrained(name)


def check_beside(sources: Collection[str], beside: Mapping[str, Collection[str] | None]) -> None:
    """Raise where something comes with texts that are still to be drawn.

    `beside`: ``features``, ``log_probs`` and ``ratings`` to the names of those whose they are.
    """
    for kind, names in beside.items():
        for name in names or ():
            if name in sources and kind == "log_probs":
                raise OptionError(
                    f"{name} is a model, which gives its own log-probabilities: leave its --log-probs out"
                )
            if name in sources:
                raise OptionError(
                    f"--{kind} belong to texts, and {name} is a generator that has still to draw them: draw them with "
                    "'textassay sample' and give the file"
                )


class Drawing:
    """Draws texts from generators until more of them would not raise dd, or the budget is spent.

    `judge` measures dd of a generator's texts for that decision; None draws as many as there are real texts. Nothing is
    written before every generator has been opened and the first texts of commands have come.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        *,
        n_real: int,
        real_groups: npt.NDArray[np.int64] | None,
        budget: Budget,
        least: int,
        level: float,
        seed: int,
        folder: Path | None,
        judge: Judge | None,
        progress: Progress | None,
        named: Mapping[str, Any],
    ) -> None:
        self._n_real = n_real
        self._groups = real_groups
        self._budget = budget
        self._least = least if judge is not None else 2
        self._level = level
        self._judge = judge
        self._progress = progress
        self.warnings: list[str] = []
        if budget.texts is not None and budget.texts < self._least:
            raise OptionError(f"budget must be at least {self._least} texts, which dd needs, got {budget.texts}")
        self._named = {name: _named(named[name], source) for name, source in sources.items()}
        self._open = ExitStack()
        self._drawn: dict[str, _Drawn] = {}
        for name, source in sources.items():
            first = int(stream(seed, "draws", name).integers(2**31))
            self._drawn[name] = _drawn(name, source, first, folder)

    def draw(self) -> dict[str, tuple[Draw, Sequence[str]]]:
        """Return what was drawn from each generator, and the texts.

        All draw as many as the one that needs most, since values at unequal sizes are hard to compare.
        """
        n = self._n_real if self._budget.texts is None else min(self._n_real, self._budget.texts)
        most = math.inf if self._budget.texts is None else self._budget.texts
        with self._open:
            for name, drawn in sorted(self._drawn.items(), key=lambda item: not item[1].fails_early):
                self._enlarge(name, n)
                if len(drawn.texts) < min(self._least, n):
                    raise InputError(self._too_few(name))
            for drawn in self._drawn.values():
                drawn.save()
            curves = {name: _Curve(min(n, len(drawn.texts))) for name, drawn in self._drawn.items()}
            if self._judge is not None:
                for name, curve in curves.items():
                    self._measure(name, curve)
                while n < most and any(not curve.is_level for curve in curves.values()):
                    n = int(min(2 * n, most))
                    for name, curve in curves.items():
                        self._enlarge(name, n)
                        self._drawn[name].save()
                        reached = min(n, len(self._drawn[name].texts))
                        if reached > curve.n and not curve.is_level:
                            self._measure(name, curve, reached)
                        curve.is_stuck = reached < n
                        curve.n = reached
                    if all(curve.is_stuck or curve.is_level for curve in curves.values()):
                        break
        return {name: (self._record(name, curve), self._drawn[name].texts[: curve.n]) for name, curve in curves.items()}

    def _too_few(self, name: str) -> str:
        drawn = self._drawn[name]
        if drawn.ended:
            return f"{name}: the command printed {len(drawn.texts)} sentences, at least {self._least} are needed"
        return (
            f"{name}: {len(drawn.texts)} sentences were drawn in {drawn.seconds:.0f} seconds, at least {self._least} "
            "are needed: give a larger budget"
        )

    def _record(self, name: str, curve: "_Curve") -> Draw:
        drawn, rise = self._drawn[name], curve.rise
        stopped: Stopped = "no dd"
        if curve.is_level:
            stopped = "level"
        elif drawn.ended and (curve.is_stuck or self._judge is None):
            stopped = "ended"
        elif self._judge is not None:
            stopped = "time" if curve.is_stuck else "budget"
        self.warnings += drawn.warnings
        return Draw(
            generator=name,
            source=self._named[name],
            model=drawn.model,
            seed=drawn.seed,
            n=curve.n,
            seconds=round(drawn.seconds, 3),
            budget=str(self._budget),
            stopped=stopped,
            curve=tuple(curve.points),
            gain=None if rise is None else rise.value,
            gain_low=None if rise is None else rise.low,
            gain_high=None if rise is None else rise.high,
            file=drawn.file,
        )

    def _enlarge(self, name: str, n: int) -> None:
        """Draw until there are `n` texts, time is up, or no more come."""
        drawn = self._drawn[name]
        if len(drawn.texts) >= n:
            return
        pieces = drawn.pieces(n, self._open)
        while len(drawn.texts) < n and not drawn.ended:
            if self._budget.seconds is not None and drawn.seconds >= self._budget.seconds:
                return
            if self._progress is not None:
                self._progress(f"drawing {name}", len(drawn.texts), n)
            begun = time.perf_counter()
            try:
                piece = next(pieces, None)
            except KeyboardInterrupt:
                drawn.save()
                raise
            if piece is None:
                return
            drawn.keep(piece[: n - len(drawn.texts)], time.perf_counter() - begun)

    def _measure(self, name: str, curve: "_Curve", n: int | None = None) -> None:
        """Add dd of `n` texts, those of `curve` at first, and what the last doubling added to it."""
        assert self._judge is not None
        n_now = curve.n if n is None else n
        if self._progress is not None:
            self._progress(f"dd of {n_now} texts of {name}", 0, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the final values they are told
            judged = self._judge(name, self._drawn[name].texts[:n_now])
        curve.points.append(_point(judged, self._n_real, n_now))
        if curve.judged is not None:
            curve.rise, error = self._rise(judged, curve.judged, curve.n, n_now)
            curve.is_level = n_now == 2 * curve.n and curve.rise.value <= error
        curve.judged = judged

    def _rise(self, now: "Judgement", before: "Judgement", n_before: int, n_now: int) -> "tuple[Rise, float]":
        """Return what more draws added to dd, and its standard error."""
        from textassay.comparison.learning_curve import rise_of

        rows = [np.ones(self._n_real, dtype=np.bool_), np.arange(n_now) < n_before]
        groups = (self._groups, None)
        rise = rise_of(now, before, rows, groups, self._level, shares=(1.0, n_before / n_now))
        n_units = len(rows[1]) + (self._n_real if self._groups is None else len(np.unique(self._groups)))
        return rise, (rise.high - rise.value) / float(stdtrit(max(1, n_units - 2), (1 + self._level) / 2))


@dataclass
class _Curve:
    """dd of one generator by the number of its texts, and how many there are by now."""

    n: int
    points: list[CurvePoint] = field(default_factory=list)
    judged: "Judgement | None" = None
    rise: "Rise | None" = None
    is_level: bool = False  # the last doubling raised dd by no more than its standard error
    is_stuck: bool = False  # no more texts come: time is up, or the command has ended


@dataclass(frozen=True)
class Drawn:
    """What was drawn, the texts, log-probabilities of draws and of real texts, and what is to be said of it."""

    draws: tuple[Draw, ...]
    texts: Mapping[str, Sequence[str]]
    log_probs: Mapping[str, tuple[FloatArray, FloatArray]]
    warnings: tuple[str, ...]


def draw_all(
    sources: Mapping[str, Source],
    *,
    named: Mapping[str, Any],
    real: Corpus,
    real_texts: Sequence[str],
    budget: Budget,
    least: int,
    level: float,
    seed: int,
    folder: Path | None,
    judge: Judge | None,
    progress: Progress | None,
    scored: bool,
    with_log_probs: Collection[str],
) -> Drawn:
    """Draw from all generators, and score the texts where every generator of the comparison has log-probabilities.

    `named`: all generators, as they were given; `least`: texts that dd needs; `with_log_probs`: generators whose
    log-probabilities were given. All or none are used: dd with them and dd without are not comparable.
    """
    drawing = Drawing(
        sources, named=named, n_real=len(real), real_groups=real.groups, budget=budget, least=least, level=level,
        seed=seed, folder=folder, judge=judge, progress=progress,
    )  # fmt: skip
    found = drawing.draw()
    draws, texts = {name: draw for name, (draw, _) in found.items()}, {name: one for name, (_, one) in found.items()}
    without = [
        name for name in named if not (has_log_probs(sources[name]) if name in sources else name in with_log_probs)
    ]
    log_probs: dict[str, tuple[FloatArray, FloatArray]] = {}
    reason = "" if scored else "they were not asked for"
    if scored and without:
        have = "have" if len(without) > 1 else "has"
        reason = f"{', '.join(without)} {have} none, and dd with them cannot be compared with dd without"
    if not reason:
        log_probs, reason = _score(sources, texts, real_texts, draws=draws, folder=folder, progress=progress)
    draws = {
        name: replace(draw, log_probs=bool(log_probs), no_log_probs=None if log_probs else reason)
        for name, draw in draws.items()
    }
    return Drawn(tuple(draws.values()), texts, log_probs, tuple(drawing.warnings))


def scores_of(draws: Path) -> Path:
    """Return where the log-probabilities of kept draws, and of the real text, are kept: a file for ``--log-probs``."""
    return draws.with_suffix(".log-probs.npz")


def has_log_probs(source: Source) -> bool:
    """Return whether a generator can say how likely a text is."""
    model = getattr(source, "model", source)
    return callable(getattr(source, "log_prob", None)) and hasattr(model, "log_prob")


def _score(
    sources: Mapping[str, Source],
    drawn: Mapping[str, Sequence[str]],
    real: Sequence[str],
    *,
    draws: Mapping[str, Draw],
    folder: Path | None,
    progress: Progress | None,
) -> tuple[dict[str, tuple[FloatArray, FloatArray]], str]:
    """Return the log-probabilities of draws and of real texts under each generator; or none, and why."""
    found = {}
    for number, (name, source) in enumerate(sources.items()):
        if progress is not None:
            progress(f"log-probabilities of {name}", number, len(sources))
        file = draws[name].file
        path = None if folder is None or file is None else scores_of(folder / Path(file).name)
        try:
            of_real, of_drawn = _scored(source, real, drawn[name], path)
        except TextassayError as error:
            return {}, f"{name} gives none ({error})"
        if not (np.isfinite(of_real).all() and np.isfinite(of_drawn).all()):
            return {}, f"{name} gives some texts probability 0"
        found[name] = (of_drawn, of_real)
    return found, ""


# Texts of one generator


class _Drawn:
    """The texts drawn from one generator so far, kept in a folder if there is one."""

    fails_early = False

    def __init__(self, name: str, model: str, key: str | None, seed: int, folder: Path | None) -> None:
        self.model = model
        self.seed = seed
        self.texts: list[str] = []
        self.seconds = 0.0
        self.ended = False
        self.warnings: list[str] = []
        self.file: str | None = None
        self._name = name
        self._key = f"{key}/{seed}"
        self._bytes = self._checksum = self._n_saved = 0
        self._path: Path | None = None
        if folder is not None:
            self._path = folder / f"{_file_name(name)}-{hashlib.sha256(self._key.encode()).hexdigest()[:8]}.jsonl"
            self.file = f"{DRAWS}/{self._path.name}"
            if key is not None:
                self._load(self._path)
            else:  # what cannot be recognised is drawn anew
                with suppress(OSError):
                    scores_of(self._path).unlink(missing_ok=True)

    def pieces(self, n: int, running: ExitStack) -> Iterator[list[str]]:
        """Yield more texts until there are `n`."""
        raise NotImplementedError

    def keep(self, texts: Sequence[str], seconds: float) -> None:
        """Add texts that took so long to draw; where there is a folder, write them when there are enough."""
        self.texts += texts
        self.seconds += seconds
        if len(self.texts) - self._n_saved >= BLOCK:
            self.save()

    def save(self) -> None:
        """Write texts that are not yet in the folder, if there is one."""
        texts = self.texts[self._n_saved :]
        if self._path is None or not texts:
            return
        lines = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
        content = lines.encode("utf-8", "surrogatepass")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("r+b" if self._bytes else "wb") as file:
                file.seek(self._bytes)
                file.truncate()  # what a killed run had begun
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            self._bytes += len(content)
            self._checksum = zlib.crc32(content, self._checksum)
            self._n_saved = len(self.texts)
            document = {
                "generator": self._name,
                "model": self.model,
                "key": self._key,
                "seed": self.seed,
                "texts": self._n_saved,
                "bytes": self._bytes,
                "checksum": self._checksum,
                "seconds": self.seconds,
                "warnings": self.warnings,
            }
            with atomic_write(self._path.with_suffix(".json")) as draft:
                draft.write(json.dumps(document, indent=1).encode())
        except OSError as error:
            raise OutputError(
                f"cannot write to {self._path.parent}: {error.strerror or error}; choose another --out"
            ) from error

    def _load(self, path: Path) -> None:
        """Take what an earlier run has kept; where it is damaged, nothing."""
        try:
            document = parse_json(path.with_suffix(".json").read_text(encoding="ascii"))
            with path.open("rb") as file:
                content = file.read(document["bytes"])
            texts = [json.loads(line)["text"] for line in content.decode("utf-8", "surrogatepass").split("\n")[:-1]]
            whole = len(content) == document["bytes"] and zlib.crc32(content) == document["checksum"]
            if whole and document["key"] == self._key and document["texts"] == len(texts):
                self.texts, self.seconds = texts, float(document["seconds"])
                self.warnings = [str(warning) for warning in document["warnings"]]
                self._bytes, self._checksum, self._n_saved = document["bytes"], document["checksum"], len(texts)
        except (OSError, ValueError, KeyError, TypeError):
            return


class _OfModel(_Drawn):
    def __init__(self, name: str, source: Source, seed: int, folder: Path | None) -> None:
        model = getattr(source, "model", source)
        super().__init__(name, str(getattr(model, "name", type(model).__name__)), _key(model), seed, folder)
        self._source = source

    def pieces(self, n: int, running: ExitStack) -> Iterator[list[str]]:
        while len(self.texts) < n:
            start = len(self.texts)
            first = start - start % BLOCK
            texts = self._sample(min(first + BLOCK, n) - first, self.seed + first // BLOCK)
            repeats = texts[: start - first] == self.texts[first:start]  # else it does not draw as it should
            yield texts[start - first :] if repeats else texts

    def _sample(self, n: int, seed: int) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            drawn = self._source.sample(n, seed=seed)
        if caught and not self.warnings:  # each block has the same to say
            self.warnings.append(f"{self._name}: {caught[0].message} (of {n} that were drawn together)")
        texts = list(getattr(drawn, "texts", drawn))
        if len(texts) != n or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{self._name}: sample({n}, seed={seed}) must return {n} str, got {len(texts)} items")
        return texts


class _OfCommand(_Drawn):
    fails_early = True

    def __init__(self, name: str, command: "ExternalCommand", seed: int, folder: Path | None) -> None:
        key = f"command {command.column} {command.command}"
        super().__init__(name, command.name, key, seed, folder)
        self._command = command
        self._lines: CommandLines | None = None
        self._n_read = 0  # lines of the running command

    def pieces(self, n: int, running: ExitStack) -> Iterator[list[str]]:
        return self._called(n) if "{n}" in self._command.command else self._read(n, running)

    def _called(self, n: int) -> Iterator[list[str]]:
        """Yield what calls print that are told how many; the last texts of a call only where it did not fail."""
        while len(self.texts) < n:
            start, before = len(self.texts), self.texts[:BLOCK]
            wanted = min(n - start, CALL)
            held: list[str] = []
            n_printed = 0
            with self._command.lines(wanted, self.seed + start, patience=PATIENCE) as lines:
                while n_printed < wanted:
                    block = self._sentences(lines.read(min(BLOCK, wanted - n_printed)), n_printed)
                    if not block:
                        break
                    if n_printed == 0:
                        _check_new(self._command, block, before)
                    if held:
                        yield held
                    held, n_printed = block, n_printed + len(block)
                if lines.read(1):
                    raise InputError(f"{self._command.name} printed more than {wanted} sentences")
                failure = lines.ended()
            if failure or n_printed < wanted:
                failure = failure or "it ended with status 0"
                raise InputError(f"{self._command.name} printed {n_printed} of {wanted} sentences; {failure}")
            yield held

    def _read(self, n: int, running: ExitStack) -> Iterator[list[str]]:
        """Yield what a command prints that is not told how many: it is read as long as texts are needed."""
        if self._lines is None:
            lines = self._command.lines(n, self.seed, patience=PATIENCE)
            self._lines = running.enter_context(lines)
        n_kept, repeats = len(self.texts), self._n_read == 0
        while len(self.texts) < n:
            repeating = self._n_read < n_kept and repeats
            wanted = min(BLOCK, (n_kept - self._n_read) if repeating else n - len(self.texts))
            texts = self._sentences(self._lines.read(wanted), self._n_read)
            if len(texts) < wanted:
                failure = self._lines.ended()
                if failure:
                    n_printed = self._n_read + len(texts)
                    raise InputError(f"{self._command.name} failed after {n_printed} sentences; {failure}")
                self.ended = True
            place = self._n_read
            self._n_read += len(texts)
            if repeating:  # where an earlier run was, a command without a seed may begin again
                repeats = texts == self.texts[place : place + len(texts)]
                texts = [] if repeats else texts
            if texts:
                yield texts
            if self.ended:
                return

    def _sentences(self, lines: Sequence[bytes], n_before: int) -> list[str]:
        return [self._command.sentence(line, number) for number, line in enumerate(lines, start=n_before + 1)]


def _check_new(command: "ExternalCommand", texts: Sequence[str], before: Sequence[str]) -> None:
    """Raise where a call prints what the first one printed."""
    n = min(len(texts), len(before))
    if n and list(texts[:n]) == list(before[:n]) and len(set(texts[:n])) > 1:
        raise InputError(
            f"{command.name} prints the same sentences at every call: it should draw others for another {{seed}}"
        )


def _drawn(name: str, source: Source, seed: int, folder: Path | None) -> _Drawn:
    from textassay.generator import ExternalCommand

    model = getattr(source, "model", source)
    if isinstance(model, ExternalCommand):
        return _OfCommand(name, model, seed, folder)
    return _OfModel(name, source, seed, folder)


def _named(given: Any, source: Source) -> str | None:
    """Return how the command line names a generator; None for what Python alone knows."""
    name = given if isinstance(given, str | os.PathLike) else getattr(source, "source", None)
    if name is None and (command := getattr(getattr(source, "model", None), "command", None)) is not None:
        return f"command:{command}"
    return None if name is None else os.fspath(name)


def _key(model: Any) -> str | None:
    """Return what decides a model's draws beside the seed: a hash of its weights; None where that cannot be known."""
    hashed = getattr(model, "_hash", None)  # of the files of a pretrained model
    if isinstance(hashed, str):
        return f"pretrained {hashed} {getattr(model, 'max_length', None)}"
    if not callable(getattr(model, "arrays", None)):
        return None
    digest = hashlib.sha256(json.dumps([model.name, model.settings, list(model.vocabulary.tokens)]).encode())
    for key, array in sorted(model.arrays().items()):
        digest.update(f"{key}{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return f"model {digest.hexdigest()}"


def _file_name(name: str) -> str:
    """Return a generator's name as that of a file."""
    return _SAFE.sub("-", name)[:_LONGEST_NAME].strip(".-") or "generator"


def _point(judged: "Judgement", n_real: int, n_generated: int) -> CurvePoint:
    value, interval = judged.estimate.value, judged.estimate.interval
    low, high = (-1.0, 1.0) if interval is None else (interval.low, interval.high)
    return CurvePoint(n_real, n_generated, value, low, high)


def _scored(source: Any, real: Sequence[str], drawn: Sequence[str], path: Path | None) -> tuple[FloatArray, FloatArray]:
    """Return the log-probabilities of real texts and of draws; those that a folder has are not computed again."""
    of_texts = hashlib.sha256("\0".join(real).encode("utf-8", "surrogatepass")).hexdigest()
    known_real, known = _load_scores(path, of_texts)
    of_real = known_real if len(known_real) == len(real) else np.asarray(source.log_prob(list(real)), dtype=np.float64)
    rest = list(drawn[len(known) :])
    of_drawn = np.concatenate([known[: len(drawn)], *([source.log_prob(rest)] if rest else [])]).astype(np.float64)
    if path is not None and (rest or len(known_real) != len(real)):
        with atomic_write(path) as file:
            np.savez(file, real=of_real, generated=of_drawn, of=np.array(of_texts))
    return of_real, of_drawn


def _load_scores(path: Path | None, of_texts: str) -> tuple[FloatArray, FloatArray]:
    try:
        if path is not None and path.exists():
            with np.load(path, allow_pickle=False) as kept:
                if str(kept["of"]) == of_texts:
                    return kept["real"], kept["generated"]
    except Exception:  # a damaged file raises anything
        pass
    return np.empty(0), np.empty(0)
