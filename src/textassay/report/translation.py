"""Translations with forced beginnings, side by side, as a document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from textassay.report.document import Cell, Column, Document, Row, Table, section
from textassay.report.number import counted

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
    rows: list[Row] = []
    for number, (source, reference) in enumerate(zip(sources, references, strict=True)):
        rows.append(Row((Cell(f"sentence {number + 1}"), Cell()), "heading"))
        rows += [Row((Cell("source"), Cell(source))), Row((Cell("reference"), Cell(reference)))]
        rows += [Row((Cell(mode.upper()), Cell(_marked(texts[number])))) for mode, texts in translations.items()]
    forced = [mode.upper() for mode in translations if mode != "normal"]
    note = f"In brackets: what was forced. {', '.join(forced)} are not scored against the reference." if forced else ""
    facts = tuple((mode.upper(), _MODES[mode]) for mode in translations if mode in _MODES)
    columns = (Column("", numeric=False), Column("text", numeric=False))
    table = Table("translations", columns, tuple(rows), notes=(note,) if note else ())
    answer = f"{counted(len(sources), 'sentence')} translated by {model}, with and without forced beginnings."
    if not forced or len(forced) == len(translations):
        answer = f"{counted(len(sources), 'sentence')} translated by {model}."
    return Document(
        f"Translations by {model}", (answer,), facts, (section("Side by side", table),), version=version("textassay")
    )


def _marked(translation: ForcedText) -> str:
    return f"[{translation.prefix}]{translation.rest}" if translation.prefix else translation.rest
