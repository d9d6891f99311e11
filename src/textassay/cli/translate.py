"""``textassay translate``: translate sentences by beam search, with forced beginnings where asked, and score them."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.console import Console

from textassay.cli.messages import print_line
from textassay.cli.models import Opened, open_model, set_precision
from textassay.cli.options import check_sources, check_writable
from textassay.corpus.corpus import Corpus
from textassay.corpus.reader import read_texts
from textassay.corpus.tokenizer import join_tokens
from textassay.errors import EmptyCorpusError, InputError, OptionError, OutputError, check_range, unknown_name
from textassay.estimate import Estimate
from textassay.execution import MAX_WORKERS, check_device, default_workers, device, workers
from textassay.metric.translation_bleu import translation_bleu
from textassay.report.translation_text import ForcedText, render_translations
from textassay.report.whole_files import write_whole
from textassay.translation.translation import TranslationModel
from textassay.translation.translation_decoding import Translations, translate
from textassay.translation.translation_prefixes import PREFIX_MODES, forced_prefixes

__all__ = ["TranslateOptions", "run_translate"]

_NORMAL = PREFIX_MODES[0]
_UNSCORED = "a translation that was forced to begin with words of others is not scored against the reference"


@dataclass(frozen=True)
class TranslateOptions:
    """What the command line asked for; the fields are the options of ``textassay translate``."""

    model: str
    source: str
    real: str | None = None
    beam: int = 10
    length_power: float = 1.0
    prefix_mode: str = _NORMAL
    sentences: int | None = None
    bleu_tokenizer: str = "13a"
    seed: int = 0
    out: Path | None = None
    precision: str = "float32"
    column: str | None = None
    workers: int | None = None
    device: str = "auto"
    json: bool = False
    quiet: bool = False

    @property
    def modes(self) -> tuple[str, ...]:
        """The prefix modes that were asked for."""
        return tuple(dict.fromkeys(mode.strip().lower() for mode in self.prefix_mode.split(",")))


def run_translate(options: TranslateOptions) -> int:
    """Translate, print or write the translations, say what they score, and return 0."""
    _check(options)
    sources, references = _read(options)
    with workers(default_workers() if options.workers is None else options.workers), device(options.device):
        opened = open_model(options.model)
        if not isinstance(opened.model, TranslationModel):
            raise OptionError(f"{opened.model.name} translates nothing: name what 'train translation' wrote")
        set_precision(opened, options.precision)
        found = _translate(options, opened, sources, references)
    bleu = _bleu(options, found, references)
    if options.out is not None:
        write_whole(options.out.parent, {options.out.name: "".join(f"{line}\n" for line in _lines(options, found))})
    if options.json:
        json.dump(_document(options, opened, sources, references, found, bleu), sys.stdout, indent=1, allow_nan=False)
        print()
    elif options.modes == (_NORMAL,):
        if options.out is None:
            sys.stdout.writelines(f"{line}\n" for line in _lines(options, found))
    else:
        forced = {mode: _parts(options, opened, each) for mode, each in found.items()}
        render_translations(sources, cast(Sequence[str], references), forced, Console())
    if bleu is not None and not options.quiet:
        print_line(_told(bleu))
    return 0


def _check(options: TranslateOptions) -> None:
    """Raise for whatever can be seen to be wrong before anything is read."""
    check_range("--beam", options.beam, 1)
    check_range("--length-power", options.length_power, 0)
    check_range("--seed", options.seed, 0)
    check_range("--sentences", options.sentences, 1)
    check_range("--workers", options.workers, 1, MAX_WORKERS)
    check_device(options.device)
    if options.bleu_tokenizer not in ("13a", "none", "intl", "char"):
        raise unknown_name("--bleu-tokenizer", options.bleu_tokenizer, ("13a", "none", "intl", "char"))
    for mode in options.modes:
        if mode not in PREFIX_MODES:
            raise unknown_name("prefix mode", mode, PREFIX_MODES)
    if options.modes != (_NORMAL,) and options.real is None:
        raise OptionError(f"--prefix-mode {options.prefix_mode} needs --real FILE, a right translation of each line")
    if options.real is not None:
        check_sources(options.real, {"the source": options.source}, {"the source": "give the other language first"})
    if options.out is None:
        return
    if len(options.modes) > 1:
        raise OptionError("--out holds the translations of one --prefix-mode: ask for one, or use --json")
    if options.out.is_dir():
        raise OutputError(f"cannot write {options.out}: it is a folder")
    check_writable(options.out.parent)


def _read(options: TranslateOptions) -> tuple[list[str], list[str] | None]:
    """Return sources and references, as many as asked for."""
    sources = list(read_texts(options.source, column=options.column).texts)
    references = None if options.real is None else list(read_texts(options.real, column=options.column).texts)
    if references is not None and len(references) != len(sources):
        raise InputError(
            f"line k of {options.real} must translate line k of {options.source}, but they have {len(references)} and "
            f"{len(sources)} lines"
        )
    if not any(text and not text.isspace() for text in sources):
        raise EmptyCorpusError(f"{options.source} is empty: all of its {len(sources)} lines are blank")
    return sources[: options.sentences], None if references is None else references[: options.sentences]


def _translate(
    options: TranslateOptions, opened: Opened, sources: Sequence[str], references: Sequence[str] | None
) -> dict[str, tuple[Translations, Corpus | None]]:
    """Return for each mode the translations and what was forced."""
    model = cast(TranslationModel, opened.model)
    source = opened.form.corpus(sources)
    if source.fingerprint == model.record.get("train", {}).get("source_fingerprint"):
        print_line(f"warning: {model.name} was trained on {options.source}: it may know the translations by heart")
    found: dict[str, tuple[Translations, Corpus | None]] = {}
    for mode in options.modes:
        prefix = None
        if references is not None and mode != _NORMAL:
            prefix = forced_prefixes(mode, opened.form.corpus(references), seed=options.seed)
        each = translate(model, source, width=options.beam, power=options.length_power, prefix=prefix)
        if each.n_cut:
            print_line(f"warning: {each.n_cut} of {len(sources)} translations reached the most tokens one may have")
        found[mode] = each, prefix
    return found


def _bleu(
    options: TranslateOptions,
    found: dict[str, tuple[Translations, Corpus | None]],
    references: Sequence[str] | None,
) -> Estimate | None:
    if references is None or _NORMAL not in found:
        return None
    tokenizer = cast(Any, options.bleu_tokenizer)
    return translation_bleu(found[_NORMAL][0].corpus.texts, references, tokenizer=tokenizer, seed=options.seed)


def _lines(options: TranslateOptions, found: dict[str, tuple[Translations, Corpus | None]]) -> list[str]:
    """Return the translations of the one mode, each in one line."""
    return [" ".join(text.splitlines()) for text in found[options.modes[0]][0].corpus.texts]


def _parts(options: TranslateOptions, opened: Opened, found: tuple[Translations, Corpus | None]) -> list[ForcedText]:
    """Return each translation parted where forcing stopped."""
    translations, prefix = found
    n_forced = np.zeros(len(translations.corpus), dtype=np.int64) if prefix is None else prefix.lengths
    tokenizer = opened.form.tokenizer.name
    gap = " " if translations.corpus.separator else ""
    parts = []
    for number, n in enumerate(n_forced.tolist()):
        tokens = translations.corpus.sentence(number)
        first, rest = join_tokens(tokenizer, tokens[:n]), join_tokens(tokenizer, tokens[n:])
        parts.append(ForcedText(first, f"{gap}{rest}" if first else rest))
    return parts


def _document(
    options: TranslateOptions,
    opened: Opened,
    sources: Sequence[str],
    references: Sequence[str] | None,
    found: dict[str, tuple[Translations, Corpus | None]],
    bleu: Estimate | None,
) -> dict[str, Any]:
    rows = []
    for mode, each in found.items():
        parts = _parts(options, opened, each)
        for number, text in enumerate(each[0].corpus.texts):
            rows.append(
                {
                    "mode": mode,
                    "source": sources[number],
                    "reference": None if references is None else references[number],
                    "forced": parts[number].prefix,
                    "translation": text,
                    "log_prob": float(each[0].log_probs[number]),
                    "score": float(each[0].scores[number]),
                }
            )
    scored = {"bleu": None if bleu is None else bleu.to_dict()}
    if any(mode != _NORMAL for mode in found):
        scored["note"] = cast(Any, _UNSCORED)
    return {
        "model": opened.model.name,
        "beam": options.beam,
        "length_power": options.length_power,
        "seed": options.seed,
        **scored,
        "translations": rows,
    }


def _told(bleu: Estimate) -> str:
    interval = bleu.interval
    assert interval is not None  # `translation_bleu` always gives one
    return (
        f"BLEU {100 * bleu.value:.2f}, {100 * interval.level:g} % interval {100 * interval.low:.2f} to "
        f"{100 * interval.high:.2f} ({bleu.signature})"
    )
