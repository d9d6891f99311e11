"""The folder of results: what is in it, and how it is written so that a reader never finds it half-written.

All files are first written into a temporary folder inside the target, then moved into place together. If anything fails
on the way, what was there before is there again. Temporary folders of runs that died are cleared away.
"""

import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from textassay.comparison import Comparison, check_same_comparison
from textassay.corpus import is_running, parse_json, read_document
from textassay.errors import InputError, OutputError
from textassay.report.digest import Digest
from textassay.report.figures import draw_figures
from textassay.report.old_html import to_html
from textassay.report.old_latex import to_latex
from textassay.report.sentences import Examples, examples_of, open_sentences, sentence_table, write_sentences
from textassay.report.tables import to_csv, to_markdown

_TEMPORARY = ".writing-"
_ABANDONED_SECONDS = 24 * 3600
_FIGURES = "figures"
_SENTENCES = "sentences.csv"
_KINDS = (
    *("curve-", "forest-", "frontier-", "lengths-", "pairs-", "plane-", "positions-", "prefixes-", "ranks", "roc-"),
    "scores-",
)
_OUR_FIGURES = tuple(f"{kind}*.svg" for kind in _KINDS)


def write_report(
    comparison: Comparison, out: Path | str, *, texts: Mapping[str, Sequence[str]] | None = None
) -> list[Path]:
    """Write all files of a comparison into the folder `out`, made if it is absent; return their paths.

    ``results.json``, ``results.csv``, ``results.md``, ``results.tex``, ``report.html``, ``figures/*.svg``, and
    ``sentences.csv`` where estimates carry per-sentence scores and `texts` is given; else an older ``sentences.csv``
    stays, and the page shows examples from it.

    Parameters
    ----------
    comparison
        What to report.
    out
        The folder.
    texts
        Generator to its sentences, the real ones under ``(real)``.

    Raises
    ------
    InputError
        If the folder holds the report of another real text or of other settings.
    OutputError
        If a file cannot be written; then the folder is as it was before.
    """
    out = Path(out)
    check_same_comparison(out, comparison)
    existed = out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        _clear_abandoned(out)
        staging = out / f"{_TEMPORARY}{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        (staging / "new" / _FIGURES).mkdir(parents=True)
        try:
            written = _write_all(comparison, out, staging / "new", texts)
            with _only_writer(out):
                _move_into_place(staging, out, written)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        if not existed:
            with suppress(OSError):
                out.rmdir()
        raise OutputError(f"cannot write the report to {out}: {error.strerror or error}") from error
    return [out / name for name in written]


def read_comparison(out: Path | str) -> Comparison:
    """Return the comparison that `write_report` wrote into the folder `out`."""
    path = Path(out) / "results.json"
    try:
        return Comparison.from_dict(parse_json(read_document(path)))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: give the folder that 'textassay compare --out' wrote") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not a comparison written by textassay: run 'textassay compare' again") from error


def to_json(comparison: Comparison) -> str:
    """Return the JSON document of the command-line contract, in full precision, without NaN or infinity."""
    return json.dumps(comparison.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _write_all(
    comparison: Comparison, out: Path, folder: Path, texts: Mapping[str, Sequence[str]] | None
) -> list[str]:  # fmt: skip
    """Write everything into `folder`; return the names, relative to it."""
    table = None if texts is None else sentence_table(comparison, texts)
    if table is not None:
        write_sentences(table, folder / _SENTENCES)
    drawings = draw_figures(comparison)
    examples = _examples(comparison, (out if table is None else folder) / _SENTENCES)
    contents = {
        "results.json": to_json(comparison),
        "results.csv": to_csv(comparison),
        "results.md": to_markdown(comparison),
        "results.tex": to_latex(comparison),
        "report.html": to_html(comparison, drawings, examples),
        **{f"{_FIGURES}/{drawing.file_name}": drawing.svg for drawing in drawings},
    }
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    names = list(contents)
    return [*names[:4], *([] if table is None else [_SENTENCES]), *names[4:]]


def _examples(comparison: Comparison, path: Path) -> dict[str, Examples]:
    """Return telling sentences from the file at `path`; nothing where explanations hold those of all generators."""
    if {explanation.generator for explanation in comparison.explanations} >= set(comparison.generators):
        return {}
    scored, metric = open_sentences(path), _scored_by(comparison)
    return {} if metric is None or scored is None else examples_of(scored, metric)


def _scored_by(comparison: Comparison) -> str | None:
    """Return the first metric whose sentence scores are probabilities of being real."""
    digest = Digest(comparison)
    for metric in comparison.metrics:
        if any(digest.detail(generator, metric, "score_histogram") is not None for generator in comparison.generators):
            return metric
    return None


def _move_into_place(staging: Path, out: Path, names: Sequence[str]) -> None:
    """Replace the files of `out` by those in `staging`, or leave all as they were."""
    (staging / "old" / _FIGURES).mkdir(parents=True)
    (out / _FIGURES).mkdir(exist_ok=True)
    stale = {f"{_FIGURES}/{path.name}" for pattern in _OUR_FIGURES for path in (out / _FIGURES).glob(pattern)}
    for name in {*names, *stale}:
        if (out / name).exists():
            _keep(out / name, staging / "old" / name)
    done: list[str] = []
    try:
        for name in names:
            (staging / "new" / name).replace(out / name)
            done.append(name)
        for name in sorted(stale - set(names)):
            (out / name).unlink()
            done.append(name)
    except BaseException:
        for name in done:
            if (staging / "old" / name).exists():
                (staging / "old" / name).replace(out / name)
            else:
                (out / name).unlink(missing_ok=True)
        with suppress(OSError):
            (out / _FIGURES).rmdir()
        raise


def _keep(path: Path, copy: Path) -> None:
    """Keep the content of `path` under a second name, without copying where the file system can."""
    try:
        os.link(path, copy)
    except (OSError, NotImplementedError):
        shutil.copy2(path, copy)


@contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Let one run at a time move its files into `folder`, where the system can lock a folder."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _clear_abandoned(out: Path) -> None:
    """Remove the temporary folders of runs on this machine that are no more, and of any run after a day."""
    for folder in out.glob(f"{_TEMPORARY}*"):
        host, _, rest = folder.name.removeprefix(_TEMPORARY).rpartition("-")[0].rpartition("-")
        with suppress(OSError):
            old = time.time() - folder.stat().st_mtime > _ABANDONED_SECONDS
            if old or (host == socket.gethostname() and rest.isdigit() and not is_running(int(rest))):
                shutil.rmtree(folder, ignore_errors=True)
