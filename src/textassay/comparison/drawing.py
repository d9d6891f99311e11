"""Generated text that a comparison draws by itself, from models and commands: so many texts from each.

What is drawn depends on the generator, its name and the seed, never on how much is drawn, and is kept where there is a
folder; see `textassay.comparison.kept_draws`. Log-probabilities of models are used where every generator of the
comparison has them.
"""

import os
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.comparison.draw import Draw
from textassay.comparison.kept_draws import KeptDraws, kept_draws, score_kept
from textassay.comparison.measure import Progress
from textassay.comparison.sources import Source, command_of
from textassay.errors import InputError, TextassayError
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
LogProbs = tuple[FloatArray, FloatArray]  # of draws and of real texts
ENDED = "the command printed no more"


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
    real: Sequence[str],
    n: int,
    least: int,
    seed: int,
    folder: Path | None,
    scored: bool,
    with_log_probs: Collection[str],
    progress: Progress | None,
) -> Drawn:
    """Draw `n` texts from each generator, and score them where every generator of the comparison has log-probabilities.

    A command that ends before gives what it printed, if that is at least `least`. Nothing is written before every
    generator has been opened. `named`: all generators, as they were given; `with_log_probs`: those whose
    log-probabilities were given. All or none are used: dd with them and dd without are not comparable.
    """
    spelt = {name: _named(named[name], source) for name, source in sources.items()}
    kept: dict[str, KeptDraws] = {}
    for name, source in sources.items():
        first = int(stream(seed, "draws", name).integers(2**31))
        kept[name] = kept_draws(name, source, first, folder)
    try:
        for name, drawn in sorted(kept.items(), key=lambda item: not item[1].fails_early):
            _enlarge(name, drawn, n, progress)
            if len(drawn.texts) < least:
                raise InputError(
                    f"{name}: the command printed {len(drawn.texts)} sentences, at least {least} are needed"
                )
    except KeyboardInterrupt:
        for drawn in kept.values():
            drawn.save()
        raise
    for drawn in kept.values():
        drawn.save()
    texts = {name: drawn.texts[:n] for name, drawn in kept.items()}
    without = [
        name for name in named if not (_has_log_probs(sources[name]) if name in sources else name in with_log_probs)
    ]
    log_probs: dict[str, LogProbs] = {}
    reason = None
    if not scored:
        reason = "they were not asked for"
    elif without:
        have = "have" if len(without) > 1 else "has"
        reason = f"{', '.join(without)} {have} none, and dd with them cannot be compared with dd without"
    else:
        try:
            for name, source in sources.items():
                if progress is not None:
                    progress(f"log-probabilities of {name}", 0, 1)
                log_probs[name] = _scored(name, source, texts[name], real, kept[name].scores)
        except _NoLogProbs as error:
            log_probs, reason = {}, str(error)
    draws = tuple(
        Draw(
            generator=name,
            source=spelt[name],
            model=drawn.model,
            seed=drawn.seed,
            n=len(texts[name]),
            seconds=round(drawn.seconds, 3),
            file=drawn.file,
            log_probs=reason is None,
            no_log_probs=reason,
            note=ENDED if len(texts[name]) < n else drawn.note,
        )
        for name, drawn in kept.items()
    )
    return Drawn(draws, texts, log_probs, tuple(words for drawn in kept.values() for words in drawn.warnings))


def _enlarge(name: str, drawn: KeptDraws, n: int, progress: Progress | None) -> None:
    """Draw until there are `n` texts, or no more come."""
    if len(drawn.texts) >= n:
        return
    with closing(drawn.pieces(n)) as pieces:
        while len(drawn.texts) < n:
            if progress is not None:
                progress(f"drawing {name}", len(drawn.texts), n)
            begun = time.perf_counter()
            piece = next(pieces, None)
            if piece is None:
                return
            drawn.keep(piece[: n - len(drawn.texts)], time.perf_counter() - begun)


def _has_log_probs(source: Source) -> bool:
    """Return whether a generator can say how likely a text is."""
    model = getattr(source, "model", source)
    return callable(getattr(source, "log_prob", None)) and hasattr(model, "log_prob")


class _NoLogProbs(Exception):  # noqa: N818  (it is no error of the user's: dd goes on without them)
    """A generator turned out to give no log-probabilities, or some text the probability 0."""


def _scored(name: str, source: Source, texts: Sequence[str], real: Sequence[str], path: Path | None) -> LogProbs:
    """Return the log-probabilities of draws and of real texts; `path`: where they are kept."""
    try:
        found = score_kept(source, real, texts, path)
    except TextassayError as error:
        raise _NoLogProbs(f"{name} gives none ({error})") from None
    if not all(np.isfinite(side).all() for side in found):
        raise _NoLogProbs(f"{name} gives some texts probability 0")
    return found


def _named(given: Any, source: Source) -> str | None:
    """Return how the command line names a generator; None for what Python alone knows."""
    name = given if isinstance(given, str | os.PathLike) else getattr(source, "source", None)
    if name is None and (command := command_of(source)) is not None:
        return f"command:{command}"
    return None if name is None else os.fspath(name)
