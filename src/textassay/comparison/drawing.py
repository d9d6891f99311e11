"""Generated text that a comparison draws by itself, from models and commands.

As many texts as there are real ones are drawn first, then twice as many, and so on, until the last doubling raised dd
by no more than its own standard error, or the budget is spent. All generators draw as many as the one that needs most,
so that their values can be compared. For that decision dd is measured at the effort ``quick``, against the same real
text. What is drawn depends on the generator, its name and the seed, never on how much is drawn, and is kept where there
is a folder; see `textassay.comparison.kept_draws`.
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

from textassay.comparison.draw import Draw, Stopped
from textassay.comparison.explanation import CurvePoint
from textassay.comparison.kept_draws import KeptDraws, kept_draws, score_kept, scores_of
from textassay.comparison.measure import Progress
from textassay.comparison.sources import Budget, Source
from textassay.corpus import Corpus
from textassay.errors import InputError, OptionError, TextassayError
from textassay.seeding import stream

if TYPE_CHECKING:
    from textassay.comparison.learning_curve import Judgement, Rise

FloatArray = npt.NDArray[np.float64]
Judge = Callable[[str, Sequence[str]], "Judgement"]  # generator and its texts to dd


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
        self._drawn: dict[str, KeptDraws] = {}
        for name, source in sources.items():
            first = int(stream(seed, "draws", name).integers(2**31))
            self._drawn[name] = kept_draws(name, source, first, folder)

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
            of_real, of_drawn = score_kept(source, real, drawn[name], path)
        except TextassayError as error:
            return {}, f"{name} gives none ({error})"
        if not (np.isfinite(of_real).all() and np.isfinite(of_drawn).all()):
            return {}, f"{name} gives some texts probability 0"
        found[name] = (of_drawn, of_real)
    return found, ""


def _named(given: Any, source: Source) -> str | None:
    """Return how the command line names a generator; None for what Python alone knows."""
    name = given if isinstance(given, str | os.PathLike) else getattr(source, "source", None)
    if name is None and (command := getattr(getattr(source, "model", None), "command", None)) is not None:
        return f"command:{command}"
    return None if name is None else os.fspath(name)


def _point(judged: "Judgement", n_real: int, n_generated: int) -> CurvePoint:
    value, interval = judged.estimate.value, judged.estimate.interval
    low, high = (-1.0, 1.0) if interval is None else (interval.low, interval.high)
    return CurvePoint(n_real, n_generated, value, low, high)
