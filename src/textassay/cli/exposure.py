"""``textassay exposure``: whether a language model goes on worse from its own words than from real ones."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.console import Console

from textassay.cli.messages import not_saved, print_line
from textassay.cli.models import Opened, open_model, set_precision
from textassay.cli.options import check_writable
from textassay.cli.progress import show_progress
from textassay.comparison.store import EstimateStore, estimate_key
from textassay.continuation.prefixes import blocks
from textassay.corpus.corpus import Corpus
from textassay.corpus.reader import read_texts
from textassay.errors import EmptyCorpusError, InputError, OptionError, TooFewSentencesError, check_range, unknown_name
from textassay.execution import MAX_WORKERS, check_device, default_workers, device, workers
from textassay.exposure.bleu import NotForTranslationError, check_not_translation
from textassay.exposure.distance import DISTANCES, Distance
from textassay.exposure.lengths import LONGEST, ChosenLengths, choose_lengths
from textassay.exposure.measurement import ExposureSettings, Keep, measure_exposure
from textassay.exposure.runs import parse_kind
from textassay.generator.base import tokens_in
from textassay.generator.next_words import Ends, check_ends
from textassay.metric.base import check_level
from textassay.report.exposure_files import write_exposure
from textassay.report.exposure_text import render_exposure

__all__ = ["ExposureOptions", "run_exposure"]

VALUES = "values"  # the folder under --out
_BLEU_RUNS, _ORACLE_RUNS = 10, 5
_DATA = "data"


@dataclass(frozen=True)
class ExposureOptions:
    """What the command line asked for; the fields are the options of ``textassay exposure``."""

    model: str
    real: str
    lengths: str | None = None
    oracle: str | None = None
    prefixes: str = "data,model,shuffled"
    samples: int = 10_000
    runs: int | None = None
    sentence_length: int | None = None
    blocks: bool = False
    distances: str = "tv,js,greedy"
    ends: str = "excluded"
    eb_dd: bool = False
    show: int = 3
    column: str | None = None
    level: float = 0.95
    seed: int = 0
    out: Path | None = None
    precision: str = "float32"
    workers: int | None = None
    device: str = "auto"
    json: bool = False
    quiet: bool = False


def run_exposure(options: ExposureOptions) -> int:
    """Measure, print what came of it, write it where asked, and return 0."""
    settings, lengths = _settings(options)
    file = read_texts(options.real, column=options.column)
    if not any(text and not text.isspace() for text in file.texts):
        raise EmptyCorpusError(f"{options.real} is empty: all of its {len(file.texts)} lines are blank")
    with (
        show_progress(quiet=options.quiet) as progress,
        workers(default_workers() if options.workers is None else options.workers),
        device(options.device),
    ):
        opened = _opened(options.model)
        oracle = None if options.oracle is None else _opened(options.oracle)
        for side in (opened, oracle):
            if side is not None:
                set_precision(side, options.precision)
        if oracle is not None:
            _check_vocabularies(options, opened, oracle)
        text, chosen = _text(options, opened, opened.form.corpus(file), lengths)
        found = measure_exposure(
            opened.model,
            text,
            chosen,
            settings,
            oracle=None if oracle is None else oracle.model,
            keep=_keep(options, opened, oracle, text),
            progress=progress,
        )
    named = {"model": options.model, "real": options.real, "oracle": options.oracle, "blocks": options.blocks}
    document = {**found.to_dict(), "command": {**named, "precision": options.precision}}
    if options.json:
        json.dump(document, sys.stdout, indent=1, allow_nan=False)
        print()
    else:
        render_exposure(found, Console())
    if options.out is not None:
        with not_saved():
            written = write_exposure(found, document, options.out)
        if not options.quiet:
            print_line(f"wrote {', '.join(map(str, written))}")
    return 0


def _settings(options: ExposureOptions) -> tuple[ExposureSettings, tuple[int, ...] | None]:
    """Return what to measure and the lengths of prefixes; raise for whatever is wrong before anything is read."""
    check_level(options.level, name="--level")
    check_range("--seed", options.seed, 0)
    check_range("--samples", options.samples, 1)
    check_range("--runs", options.runs, 1)
    check_range("--show", options.show, 0)
    check_range("--workers", options.workers, 1, MAX_WORKERS)
    if options.sentence_length is not None:
        check_range("--sentence-length", options.sentence_length, 4)
    check_device(options.device)
    check_ends(options.ends)
    kinds = _listed("--prefixes", options.prefixes)
    for kind in kinds:
        parse_kind(kind)
    others = tuple(kind for kind in kinds if kind != _DATA)
    if not others:
        raise OptionError("--prefixes names nothing to compare those of the data with: add model")
    distances = _listed("--distances", options.distances)
    for name in distances:
        if name not in DISTANCES:
            raise unknown_name("distance", name, DISTANCES)
    if options.out is not None:
        check_writable(options.out)
    return (
        ExposureSettings(
            kinds=others,
            n=options.samples,
            bleu_runs=options.runs or _BLEU_RUNS,
            oracle_runs=options.runs or _ORACLE_RUNS,
            distances=cast(tuple[Distance, ...], distances),
            ends=cast(Ends, options.ends),
            with_dd=options.eb_dd,
            n_shown=options.show,
            level=options.level,
            seed=options.seed,
        ),
        None if options.lengths is None else _lengths(options.lengths),
    )


def _lengths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in _listed("--lengths", text))
    except ValueError:
        raise OptionError(f"cannot read --lengths '{text}': write whole numbers, such as 5,10,15") from None


def _listed(option: str, text: str) -> tuple[str, ...]:
    parts = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not parts:
        raise OptionError(f"{option} names nothing")
    return parts


def _opened(name: str) -> Opened:
    opened = open_model(name)
    try:
        check_not_translation(opened.model)
    except NotForTranslationError as error:
        told = "'textassay translate --prefix-mode' shows what it makes of forced beginnings"
        raise NotForTranslationError(f"{error}; {told}") from None
    return opened


def _check_vocabularies(options: ExposureOptions, opened: Opened, oracle: Opened) -> None:
    own, other = (set(side.form.vocabulary.tokens) for side in (opened, oracle))
    if own != other:
        raise OptionError(
            f"{options.model} and its oracle {options.oracle} have different vocabularies, of {len(own)} and "
            f"{len(other)} tokens, {len(own & other)} in both: train with --like {options.oracle}, on text that it drew"
        )


def _text(
    options: ExposureOptions, opened: Opened, corpus: Corpus, lengths: tuple[int, ...] | None
) -> tuple[Corpus, ChosenLengths]:
    """Return the sentences or blocks to measure on, and the lengths; raise where the model knows them already."""
    tokens_in(opened.form.vocabulary, corpus, generator=opened.model.name)  # raises where a sentence holds <eos>
    if corpus.unk_rate == 1:
        raise InputError(
            f"{options.model} knows no token of {options.real}: give text in its language, tokenised as what it learnt"
        )
    _check_unseen(options, opened, corpus)
    size = options.sentence_length
    if options.blocks:
        size = LONGEST if size is None else size
        corpus = blocks(corpus, size)
    elif len(corpus) == 1:
        raise TooFewSentencesError(
            f"{options.real} is one sentence, of {len(corpus.tokens)} tokens: at least 2 are needed, for a prefix and "
            "for a reference; is it running text? then add --blocks"
        )
    return corpus, choose_lengths(corpus, lengths, size, ends=cast(Ends, options.ends))


def _check_unseen(options: ExposureOptions, opened: Opened, corpus: Corpus) -> None:
    """Raise where the text is, or begins with, what the model was trained on, as far as its folder tells."""
    record = opened.document.get("training", {})
    seen = record.get("train") or {}
    n_seen = seen.get("sentences", 0)
    told = f"what {options.model} was trained on: give text that it never saw, since what it learnt by heart reads well"
    if corpus.fingerprint == seen.get("fingerprint"):
        raise InputError(f"{options.real} is {told}")
    if 0 < n_seen < len(corpus) and corpus.take(np.arange(n_seen)).fingerprint == seen.get("fingerprint"):
        raise InputError(f"the first {n_seen} of {len(corpus)} sentences of {options.real} are {told}")
    if corpus.fingerprint == (record.get("valid") or {}).get("fingerprint") and not options.quiet:
        print_line(
            f"warning: {options.real} decided when the training of {options.model} stopped: other text is better"
        )


def _keep(options: ExposureOptions, opened: Opened, oracle: Opened | None, text: Corpus) -> Keep | None:
    """Return what keeps cells under --out, by the content they were computed from."""
    if options.out is None:
        return None
    store = EstimateStore(options.out / VALUES)
    identities = [_identity(opened, options.model)]
    if oracle is not None:
        identities.append(_identity(oracle, str(options.oracle)))

    def keep(settings: Mapping[str, Any], make: Callable[[], Any]) -> Any:
        # EB-bleu knows no oracle, EB-C no text: what they do not depend on is left out of their keys
        of_bleu = settings["measure"] == "EB-bleu"
        known = identities[:1] if of_bleu else identities
        read = text.fingerprint if settings["measure"] != "EB-C" else ""
        key = estimate_key(version("textassay"), *known, read, options.precision, json.dumps(settings, sort_keys=True))
        document = store.load_document(key)
        if document is None:
            document = make()
            store.save_document(key, document)
        return document

    return keep


def _identity(opened: Opened, given: str) -> str:
    """Return what tells a model from every other: what is in its folder, or, without one, what names it."""
    if not opened.document:
        return json.dumps([given, opened.model.name])
    known = {name: opened.document[name] for name in ("kind", "settings", "checksum", "vocabulary")}
    return json.dumps(known, sort_keys=True)
