"""Translations with forced beginnings, side by side, as a document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textassay.report.document import Document, section
from textassay.report.table import Cell, Row, Table
from textassay.report.text import counted

_MODES = {
    "normal": "nothing is forced",
    "data3": "begins with the first three tokens of the reference",
    "unrel3": "begins with the first three tokens of the reference of another sentence",
    "rand3": "begins with three random words of the vocabulary",
}


@dataclass(frozen=True)
class ForcedText:
    """A translation in two parts: what was forced, and what the model went on with."""

    prefix: str
    rest: str


def translation_document(
    sources: Sequence[str],
    references: Sequence[str],
    translations: Mapping[str, Sequence[ForcedText]],
    *,
    model: str = "the model",
) -> Document:
    """Return each source with its reference and its translations; what was forced stands in brackets."""
    rows: list[Row | Sequence[str]] = []
    for number, (source, reference) in enumerate(zip(sources, references, strict=True)):
        rows += [Row((Cell(f"sentence {number + 1}"),), "heading"), ("source", source), ("reference", reference)]
        rows += [(mode.upper(), _marked(texts[number])) for mode, texts in translations.items()]
    forced = [mode.upper() for mode in translations if mode != "normal"]
    both = ", with and without forced beginnings" if 0 < len(forced) < len(translations) else ""
    note = f"In brackets: what was forced. {', '.join(forced)} are not scored against the reference." if forced else ""
    return Document(
        f"Translations by {model}",
        (f"{counted(len(sources), 'sentence')} translated by {model}{both}.",),
        tuple((mode.upper(), _MODES[mode]) for mode in translations if mode in _MODES),
        (section("Side by side", Table.of("translations", ("", "text"), rows, texts=(1,), notes=[note] * bool(note))),),
    )


def _marked(translation: ForcedText) -> str:
    return f"[{translation.prefix}]{translation.rest}" if translation.prefix else translation.rest
