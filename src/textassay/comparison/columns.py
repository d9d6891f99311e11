"""Columns of the texts of a comparison: features, log-probabilities and ratings; checked, then attached."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.comparison.comparison import FLOOR, TRAIN
from textassay.corpus.corpus import CUT_OFF, Corpus
from textassay.embedding.encoder import FEATURES
from textassay.errors import InputError, OptionError, unknown_name
from textassay.inspection.finding import HELDOUT

SideColumns = Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]]  # generator: (of its own texts, of real texts)
_TRAIN_NAME = "train"  # of the training text among features, which may be left out
_REAL_NAMES = {"real": FLOOR, "real-heldout": HELDOUT, _TRAIN_NAME: TRAIN}  # of the other rows among features
LOG_PROBS, RATINGS = "log_probs", "ratings"
_LARGEST = 1e15  # largest feature: its fourth power is finite, and its square in single precision

_IMPOSSIBLE = ": the model gives this text probability 0. Smooth the model, or leave its log-probabilities out"


def attach_columns(
    corpora: Mapping[str, Corpus],
    generators: Iterable[str],
    *,
    features: Mapping[str, npt.ArrayLike] | None = None,
    log_probs: SideColumns | None = None,
    ratings: SideColumns | None = None,
) -> dict[str, Corpus]:
    """Return the corpora with their columns.

    `corpora`: by name, real text under ``(real)`` and ``(real-heldout)``, training text under ``(train)``. `features`:
    vectors of texts, shapes (N, d), under ``real``, ``real-heldout`` and the generators' names, for all or none; those
    of the training text, under ``train``, may be left out. `log_probs`: generator to its log-probabilities (nats) of
    its own and of all real texts, shapes (N,) and (n_real,). `ratings`: likewise.
    """
    real_rows = {name: row for name, row in _REAL_NAMES.items() if row in corpora}
    generators = list(generators)
    check_names(generators, real_rows, features=features or (), log_probs=log_probs or (), ratings=ratings or ())
    columns: dict[str, dict[str, npt.NDArray[np.floating[Any]]]] = {name: {} for name in corpora}
    if features:
        rows = {**real_rows, **{name: name for name in generators}}
        for name, values in features.items():
            column = _checked(values, f"features of {name}", len(corpora[rows[name]]), n_axes=2)
            _check_size(column, f"features of {name}")
            columns[rows[name]][FEATURES] = column
        widths = {name: columns[rows[name]][FEATURES].shape[1] for name in features}
        if len(set(widths.values())) > 1:
            listed = ", ".join(f"{name} {width}" for name, width in widths.items())
            raise InputError(f"features must have one width, got {listed}")
    for kind, given in ((LOG_PROBS, log_probs or {}), (RATINGS, ratings or {})):
        for name, (of_generated, of_real) in given.items():
            for row, values, side in ((FLOOR, of_real, "real"), (name, of_generated, "generated")):
                what = f"{kind.replace('_', '-')} of {name}, {side} side"
                column = _checked(values, what, len(corpora[row]), n_axes=1)
                if kind == LOG_PROBS:
                    _check_log_probs(column, what)
                columns[row][f"{kind}/{name}"] = column
    return {
        name: replace(corpus, columns={**_cut_off(corpus), **columns[name]}) if columns[name] else corpus
        for name, corpus in corpora.items()
    }


def _cut_off(corpus: Corpus) -> dict[str, npt.NDArray[np.floating[Any]]]:
    return {name: column for name, column in corpus.columns.items() if name == CUT_OFF}


def check_names(
    generators: Sequence[str],
    real: Collection[str],
    *,
    features: Collection[str] = (),
    log_probs: Collection[str] = (),
    ratings: Collection[str] = (),
) -> None:
    """Raise where what comes with the texts belongs to none of them, or features are missing for some.

    `real`: which of ``real``, ``real-heldout`` and ``train`` there are.
    """
    rows = [*(name for name in real if name != _TRAIN_NAME), *generators]
    for name in features:
        if name not in (*rows, *real):
            raise unknown_name("name in --features", name, rows)
    for name in rows if features else ():
        if name not in features:
            raise OptionError(f"--features of {name} are missing: give --features {name}=FILE.npy too")
        if rows.count(name) > 1:
            raise OptionError(
                f"a generator with --features must not be named '{name}', which is the name of the real text"
            )
    for option, names in (("--log-probs", log_probs), ("--ratings", ratings)):
        for name in names:
            if name not in generators:
                raise unknown_name(f"generator in {option}", name, generators)


def columns_of(corpus: Corpus, name: str) -> Corpus:
    """Return the corpus with only its features and the columns of generator `name`."""
    columns = {key: column for key, column in corpus.columns.items() if _owner(key) in ("", name)}
    return corpus if len(columns) == len(corpus.columns) else replace(corpus, columns=columns)


def has_own_columns(corpus: Corpus, name: str) -> bool:
    """Return whether the corpus has columns of generator `name`."""
    return any(_owner(key) == name for key in corpus.columns)


def _owner(column: str) -> str:
    """Return the generator in the name of a column, such as ``log_probs/NAME``; empty for features."""
    return column.partition("/")[2]


def _checked(values: npt.ArrayLike, what: str, n: int, *, n_axes: int) -> npt.NDArray[np.floating[Any]]:
    """Return `values` as floats, one row for each of `n` texts."""
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.number) or np.issubdtype(array.dtype, np.complexfloating):
        raise InputError(f"{what} must be numbers, got {array.dtype}")
    if array.ndim != n_axes or 0 in array.shape[1:]:
        shape = f"({n}, d)" if n_axes == 2 else f"({n},)"
        raise InputError(f"{what} must have shape {shape}, got {array.shape}")
    if len(array) != n:
        raise InputError(f"{what} must have {n:,} rows, one for each text, got {len(array):,}")
    array = array.astype(np.float64 if array.dtype.itemsize > 4 or array.dtype.kind != "f" else np.float32)
    wrong = np.flatnonzero(~np.isfinite(array).reshape(n, -1).all(axis=1))
    if len(wrong):
        first = array[wrong[0]]
        kind = "NaN" if np.isnan(first).any() else "-infinity" if (first == -np.inf).any() else "infinity"
        of_all = "1 such row" if len(wrong) == 1 else f"{len(wrong)} such rows"
        hint = _IMPOSSIBLE if kind == "-infinity" and what.startswith("log-probs") else ""
        raise InputError(f"{what} must be finite numbers, row {wrong[0] + 1} holds {kind} ({of_all}){hint}")
    return array


def _check_size(values: npt.NDArray[np.floating[Any]], what: str) -> None:
    """Raise for features so large that metrics would overflow."""
    wrong = np.flatnonzero((np.abs(values) > _LARGEST).any(axis=1))
    if len(wrong):
        raise InputError(f"{what} must be between -{_LARGEST:g} and {_LARGEST:g}, row {wrong[0] + 1} exceeds that")


def _check_log_probs(values: npt.NDArray[np.floating[Any]], what: str) -> None:
    wrong = np.flatnonzero(values > 0)
    if len(wrong):
        raise InputError(
            f"{what} must be at most 0, row {wrong[0] + 1} holds {values[wrong[0]]:g} ({len(wrong)} above 0): give "
            "log-probabilities of whole texts, not losses"
        )
