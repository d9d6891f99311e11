"""``textassay translate``."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Argument

from textassay.cli.adapter import Between, option
from textassay.cli.declarations import Computing, Files, Json, Precision
from textassay.cli.messages import print_json, print_line
from textassay.cli.options import check_sources, check_writable
from textassay.errors import InputError, OptionError, OutputError, unknown_name
from textassay.settings import Seed

if TYPE_CHECKING:
    from textassay.corpus.corpus import Corpus
    from textassay.estimate import Estimate
    from textassay_lab.generator.document import ForcedText
    from textassay_lab.generator.translation_decoding import Translations
    from textassay_lab.generators import TextGenerator

_NORMAL = "normal"
_UNSCORED = "translations forced to begin with words of other texts are not scored against the reference"


@dataclass(frozen=True, kw_only=True)
class Translate(Files, Computing):
    """Translate sentences by beam search, optionally with forced beginnings."""

    model: Annotated[str, Argument(metavar="MODEL", help="A folder written by 'train translation'.")]
    source: Annotated[str, Argument(metavar="FILE", help="Text to translate; '-' is standard input.")]
    real: Annotated[str | None, option("Reference translations, line by line; BLEU is printed.", "FILE")] = None
    beam: Annotated[int, option("Beam width; 1 is greedy.", "N"), Between(1)] = 10
    length_power: Annotated[
        float, option("Divide scores by the length to this power; 0: no length penalty.", "P"), Between(0)
    ] = 1.0
    prefix_mode: Annotated[str, option("normal, or forced beginnings, side by side: data3, unrel3, rand3.", "LIST")] = (
        "normal"
    )
    sentences: Annotated[
        int | None,
        option("Translate only the first N sentences; all by default.", "N", names=("-n", "--sentences")),
        Between(1),
    ] = None
    bleu_tokenizer: Annotated[str, option("Tokeniser of sacreBLEU: 13a, none, intl or char.", "NAME")] = "13a"
    seed: Seed = 0
    out: Annotated[
        Path | None, option("File for the translations, one per line; standard output by default.", "FILE")
    ] = None
    precision: Precision = "float32"
    json: Json = False

    @property
    def modes(self) -> tuple[str, ...]:
        """The prefix modes that were asked for."""
        return tuple(dict.fromkeys(mode.strip().lower() for mode in self.prefix_mode.split(",")))

    def run(self) -> int:
        """Translate, print or write the translations, say what they score, and return 0."""
        from textassay.report.terminal import print_document
        from textassay.storage import write_file
        from textassay_lab.cli.models import open_model
        from textassay_lab.generator.document import translation_document
        from textassay_lab.generator.translation_model import TranslationModel

        self._check()
        sources, references = self._read()
        with self.computing():
            opened = open_model(self.model, self.precision)
            if not isinstance(opened.model, TranslationModel):
                raise OptionError(
                    f"{opened.model.name} is no translation model: give a folder written by 'train translation'"
                )
            translated = self._translate(opened, sources, references)
        bleu = self._bleu(translated, references)
        if self.out is not None:
            write_file(self.out, "".join(f"{line}\n" for line in self._lines(translated)))
        if self.json:
            print_json(self._document(opened, sources, references, translated, bleu))
        elif self.modes == (_NORMAL,):
            if self.out is None:
                sys.stdout.writelines(f"{line}\n" for line in self._lines(translated))
        else:
            from rich.console import Console

            forced = {mode: self._parts(opened, each) for mode, each in translated.items()}
            name = opened.model.name
            print_document(
                translation_document(sources, cast(Sequence[str], references), forced, model=name), Console()
            )
        if bleu is not None and not self.quiet:
            print_line(_bleu_line(bleu))
        return 0

    def _check(self) -> None:
        """Raise for whatever can be seen to be wrong before anything is read."""
        from textassay_lab.generator.parallel import PREFIX_MODES

        if self.bleu_tokenizer not in ("13a", "none", "intl", "char"):
            raise unknown_name("--bleu-tokenizer", self.bleu_tokenizer, ("13a", "none", "intl", "char"))
        for mode in self.modes:
            if mode not in PREFIX_MODES:
                raise unknown_name("prefix mode", mode, PREFIX_MODES)
        if self.modes != (_NORMAL,) and self.real is None:
            raise OptionError(
                f"--prefix-mode {self.prefix_mode} needs --real FILE, a reference translation of each line"
            )
        if self.real is not None:
            check_sources(self.real, {"the source": self.source}, {"the source": "give the other language first"})
        if self.out is None:
            return
        if len(self.modes) > 1:
            raise OptionError("--out takes the translations of one --prefix-mode: choose one, or use --json")
        if self.out.is_dir():
            raise OutputError(f"cannot write {self.out}: it is a folder")
        check_writable(self.out.parent)

    def _read(self) -> tuple[list[str], list[str] | None]:
        """Return sources and references, as many as asked for."""
        from textassay.corpus.texts import read_texts

        sources = list(self.read_file(self.source).texts)
        references = None if self.real is None else list(read_texts(self.real, column=self.column).texts)
        if references is not None and len(references) != len(sources):
            raise InputError(
                f"line k of {self.real} must translate line k of {self.source}, but they have {len(references)} and "
                f"{len(sources):,} lines"
            )
        return sources[: self.sentences], None if references is None else references[: self.sentences]

    def _translate(
        self, opened: "TextGenerator", sources: Sequence[str], references: Sequence[str] | None
    ) -> "dict[str, tuple[Translations, Corpus | None]]":
        """Return for each mode the translations and what was forced."""
        from textassay_lab.generator.parallel import forced_prefixes
        from textassay_lab.generator.translation_decoding import translate
        from textassay_lab.generator.translation_model import TranslationModel

        model = cast(TranslationModel, opened.model)
        source = opened.form.corpus(sources)
        if source.fingerprint == model.record.get("train", {}).get("source_fingerprint"):
            print_line(f"warning: {model.name} was trained on {self.source}: it may have memorised the translations")
        translated: dict[str, tuple[Translations, Corpus | None]] = {}
        for mode in self.modes:
            prefix = None
            if references is not None and mode != _NORMAL:
                prefix = forced_prefixes(mode, opened.form.corpus(references), seed=self.seed)
            each = translate(model, source, width=self.beam, power=self.length_power, prefix=prefix)
            if each.n_cut:
                print_line(f"warning: {each.n_cut:,} of {len(sources):,} translations reached the maximum length")
            translated[mode] = each, prefix
        return translated

    def _bleu(
        self,
        translated: "dict[str, tuple[Translations, Corpus | None]]",
        references: Sequence[str] | None,
    ) -> "Estimate | None":
        from textassay_lab.exposure.translation_bleu import translation_bleu

        if references is None or _NORMAL not in translated:
            return None
        tokenizer = cast(Any, self.bleu_tokenizer)
        return translation_bleu(translated[_NORMAL][0].corpus.texts, references, tokenizer=tokenizer, seed=self.seed)

    def _lines(self, translated: "dict[str, tuple[Translations, Corpus | None]]") -> list[str]:
        """Return the translations of the one mode, each in one line."""
        return [" ".join(text.splitlines()) for text in translated[self.modes[0]][0].corpus.texts]

    def _parts(self, opened: "TextGenerator", translated: "tuple[Translations, Corpus | None]") -> "list[ForcedText]":
        """Return each translation parted where forcing stopped."""
        import numpy as np

        from textassay.corpus.tokenizer import join_tokens
        from textassay_lab.generator.document import ForcedText

        translations, prefix = translated
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
        self,
        opened: "TextGenerator",
        sources: Sequence[str],
        references: Sequence[str] | None,
        translated: "dict[str, tuple[Translations, Corpus | None]]",
        bleu: "Estimate | None",
    ) -> dict[str, Any]:
        rows = []
        for mode, each in translated.items():
            parts = self._parts(opened, each)
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
        if any(mode != _NORMAL for mode in translated):
            scored["note"] = cast(Any, _UNSCORED)
        return {
            "model": opened.model.name,
            "beam": self.beam,
            "length_power": self.length_power,
            "seed": self.seed,
            **scored,
            "translations": rows,
        }


def _bleu_line(bleu: "Estimate") -> str:
    interval = bleu.interval
    assert interval is not None  # `translation_bleu` always gives one
    return (
        f"BLEU {100 * bleu.value:.2f}, {100 * interval.level:g} % interval {100 * interval.low:.2f} to "
        f"{100 * interval.high:.2f} ({bleu.signature})"
    )
