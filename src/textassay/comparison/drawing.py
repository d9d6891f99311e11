"""Generated text that a comparison draws by itself, from models and commands.

As many texts as there are real ones are drawn first, or `TIMES_REAL` times as many where that is little; then twice as
many, and so on, until the last doubling raised dd by no more than its own standard error, or the budget is spent. All
generators draw as many as the one that needs most, so that their values can be compared. For that decision dd is
measured at the effort ``quick``, against the same real text, and learns from what the final dd learns from: more real
text, training text, a prior, log-probabilities. It is one estimator at all sizes: where log-probabilities turn out to
be missing, it is measured again without them. What is drawn depends on the generator, its name and the seed, never on
how much is drawn, and is kept where there is a folder; see `textassay.comparison.kept_draws`.
"""

import math
import os
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from textassay.comparison.draw import TIMES_REAL, Draw, Stopped
from textassay.comparison.explanation import CurvePoint
from textassay.comparison.kept_draws import KeptDraws, kept_draws, score_kept
from textassay.comparison.measure import Progress
from textassay.comparison.sources import Budget, Source, command_of
from textassay.corpus import Corpus
from textassay.errors import InputError, OptionError, TextassayError
from textassay.seeding import stream

if TYPE_CHECKING:
    from textassay.comparison.learning_curve import Judgement, Rise

FloatArray = npt.NDArray[np.float64]
LogProbs = tuple[FloatArray, FloatArray]  # of draws and of real texts
Judge = Callable[[str, Sequence[str], LogProbs | None], "Judgement"]  # generator, its texts, log-probabilities, to dd
LITTLE = 20_000  # texts of all generators together that are drawn in any case


def least_drawn(n_real: int, n_generators: int, budget: Budget) -> int:
    """Return how many texts of each generator are drawn before dd may say that it is enough.

    `TIMES_REAL` times the real ones, where that is no more than `LITTLE` in all; else as many as there are real ones.
    With so little text one doubling's gain is about its own error, so that stopping by it would stop by luck.
    """
    many = TIMES_REAL * n_real
    n = many if many * n_generators <= LITTLE else n_real
    return n if budget.texts is None else min(n, budget.texts)


def sizes_to(n: int, n_real: int) -> list[int]:
    """Return the sizes at which dd is measured up to `n` draws: as many as real texts, and the last doubling."""
    return sorted({size for size in (min(n, n_real), (n + 1) // 2, n) if size >= min(n, n_real)})


class Drawing:
    """Draws texts from generators until more of them would not raise dd, or the budget is spent.

    `judge` measures dd of a generator's texts for that decision; None draws as many as there are real texts. `score`
    returns the log-probabilities that it gets; it raises `NoLogProbs` where there are none. Nothing is written before
    every generator has been opened and the first texts of commands have come.
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
        score: "Score | None" = None,
    ) -> None:
        self._n_real = n_real
        self._groups = real_groups
        self._budget = budget
        self._least = least if judge is not None else 2
        self._level = level
        self._judge = judge
        self._score = score
        self._progress = progress
        self.warnings: list[str] = []
        self.no_log_probs = "" if score is not None else "they were not asked for"
        if budget.texts is not None and budget.texts < self._least:
            raise OptionError(f"budget must be at least {self._least} texts, which dd needs, got {budget.texts}")
        self._named = {name: _named(named[name], source) for name, source in sources.items()}
        self._open = ExitStack()
        self._drawn: dict[str, KeptDraws] = {}
        for name, source in sources.items():
            first = int(stream(seed, "draws", name).integers(2**31))
            self._drawn[name] = kept_draws(name, source, first, folder)

    def draw(self) -> dict[str, tuple[Draw, Sequence[str]]]:
        """Return what was drawn from each generator, and the texts.

        All draw as many as the one that needs most, since values at unequal sizes are hard to compare.
        """
        n = self._n_real if self._budget.texts is None else min(self._n_real, self._budget.texts)
        with self._open:
            for name, drawn in sorted(self._drawn.items(), key=lambda item: not item[1].fails_early):
                self._enlarge(name, n)
                if len(drawn.texts) < min(self._least, n):
                    raise InputError(self._too_few(name))
            for drawn in self._drawn.values():
                drawn.save()
            try:
                curves = self._curves(n)
            except NoLogProbs as error:  # from now on without them, and so is what was measured before
                self._score, self.no_log_probs = None, str(error)
                curves = self._curves(n)
        return {name: (self._record(name, curve), self._drawn[name].texts[: curve.n]) for name, curve in curves.items()}

    def _curves(self, n: int) -> "dict[str, _Curve]":
        """Draw, from the first `n` texts on, until it is enough; return what dd said of it."""
        if self._judge is None:
            curves = {name: _Curve(min(n, len(drawn.texts))) for name, drawn in self._drawn.items()}
            for name, curve in curves.items():
                self._scores(name, curve.n)
            return curves
        most = math.inf if self._budget.texts is None else self._budget.texts
        n = least_drawn(self._n_real, len(self._drawn), self._budget)
        curves = {}
        for name in self._drawn:
            reached = self._reach(name, n)
            curves[name] = _Curve(reached, is_stuck=reached < n)
            for size in sizes_to(reached, self._n_real):
                self._measure(name, curves[name], size)
        while n < most and any(not (curve.is_stuck or curve.is_level) for curve in curves.values()):
            n = int(min(2 * n, most))
            for name, curve in curves.items():
                reached = self._reach(name, n)
                if reached > curve.n and not curve.is_level:
                    self._measure(name, curve, reached)
                curve.is_stuck = reached < n
                curve.n = reached
        for name, curve in curves.items():  # those that had enough, but draw as many as the others
            self._scores(name, curve.n)
        return curves

    def _reach(self, name: str, n: int) -> int:
        """Draw until there are `n` texts, where possible, and keep them; return how many of these there are."""
        self._enlarge(name, n)
        self._drawn[name].save()
        return min(n, len(self._drawn[name].texts))

    def _scores(self, name: str, n: int) -> LogProbs | None:
        """Return the log-probabilities of the first `n` texts, and of the real ones, where they are used."""
        if self._score is None:
            return None
        if self._progress is not None:
            self._progress(f"log-probabilities of {name}", 0, 1)
        return self._score(name, self._drawn[name].texts[:n], self._drawn[name].scores)

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
            note=drawn.note,
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

    def _measure(self, name: str, curve: "_Curve", n: int) -> None:
        """Add dd of `n` texts, and what was added to it since it was measured last."""
        assert self._judge is not None
        log_probs = self._scores(name, n)
        if self._progress is not None:
            self._progress(f"dd of {n} texts of {name}", 0, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the final values they are told
            judged = self._judge(name, self._drawn[name].texts[:n], log_probs)
        if curve.judged is not None:
            before = curve.points[-1].n_generated
            curve.rise, error = self._rise(judged, curve.judged, before, n)
            curve.is_level = abs(n - 2 * before) <= 1 and curve.rise.value <= error
        curve.points.append(_point(judged, self._n_real, n))
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
    log_probs: Mapping[str, LogProbs]
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
    without = [
        name for name in named if not (has_log_probs(sources[name]) if name in sources else name in with_log_probs)
    ]
    score = Score(sources, real_texts) if scored and not without else None
    drawing = Drawing(
        sources, named=named, n_real=len(real), real_groups=real.groups, budget=budget, least=least, level=level,
        seed=seed, folder=folder, judge=judge, progress=progress, score=score,
    )  # fmt: skip
    found = drawing.draw()
    reason = drawing.no_log_probs
    if scored and without:
        have = "have" if len(without) > 1 else "has"
        reason = f"{', '.join(without)} {have} none, and dd with them cannot be compared with dd without"
    log_probs = (
        {} if score is None or reason else {name: score.found(name, draw.n) for name, (draw, _) in found.items()}
    )
    draws = tuple(
        replace(draw, log_probs=bool(log_probs), no_log_probs=None if log_probs else reason)
        for draw, _ in found.values()
    )
    return Drawn(draws, {name: texts for name, (_, texts) in found.items()}, log_probs, tuple(drawing.warnings))


def has_log_probs(source: Source) -> bool:
    """Return whether a generator can say how likely a text is."""
    model = getattr(source, "model", source)
    return callable(getattr(source, "log_prob", None)) and hasattr(model, "log_prob")


class NoLogProbs(Exception):  # noqa: N818  (it is no error of the user's: dd goes on without them)
    """A generator turned out to give no log-probabilities, or some text the probability 0."""


class Score:
    """Log-probabilities of draws and of real texts under the generators; each text is scored once."""

    def __init__(self, sources: Mapping[str, Source], real: Sequence[str]) -> None:
        self._sources = sources
        self._real = real
        self._known: dict[str, LogProbs] = {}

    def __call__(self, name: str, texts: Sequence[str], path: Path | None) -> LogProbs:
        """Return those of `texts` and of the real ones under a generator; `path`: where they are kept."""
        known = self._known.get(name)
        if known is None or len(known[0]) < len(texts):
            try:
                self._known[name] = score_kept(self._sources[name], self._real, texts, path, known)
            except TextassayError as error:
                raise NoLogProbs(f"{name} gives none ({error})") from None
        found = self.found(name, len(texts))
        if not all(np.isfinite(side).all() for side in found):
            raise NoLogProbs(f"{name} gives some texts probability 0")
        return found

    def found(self, name: str, n: int) -> LogProbs:
        """Return those of the first `n` texts, which were scored before."""
        of_drawn, of_real = self._known[name]
        return of_drawn[:n], of_real


def _named(given: Any, source: Source) -> str | None:
    """Return how the command line names a generator; None for what Python alone knows."""
    name = given if isinstance(given, str | os.PathLike) else getattr(source, "source", None)
    if name is None and (command := command_of(source)) is not None:
        return f"command:{command}"
    return None if name is None else os.fspath(name)


def _point(judged: "Judgement", n_real: int, n_generated: int) -> CurvePoint:
    value, interval = judged.estimate.value, judged.estimate.interval
    low, high = (-1.0, 1.0) if interval is None else (interval.low, interval.high)
    return CurvePoint(n_real, n_generated, value, low, high)
