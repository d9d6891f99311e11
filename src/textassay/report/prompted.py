"""Answers beside their prompts: what the judge goes by, and which prompts give a generator away."""

from collections.abc import Mapping
from typing import Any

from textassay.inspection.surface import excerpt
from textassay.report.cells import number_cell
from textassay.report.digest import Digest
from textassay.report.document import Cell, Part, Table, notes
from textassay.report.number import count, number, p_value
from textassay.report.words import slug

_TOP = 6
_PLACES = 3
_CLEAR = 0.05  # distance of an area under the curve from one half
_READABLE = ("share", "cosine", "begins")  # columns whose means can be read


def prompted_parts(digest: Digest, generator: str) -> list[Part]:
    """Return what gives the answers of a generator away beside their prompts; nothing where there are no prompts."""
    parts: list[Part] = []
    name = slug(generator)
    found = digest.first_detail(generator, "judged_by")
    if found is None:
        return parts
    metric, columns = found
    rows = [
        (one["name"], *(number_cell(one[key], _PLACES) for key in ("generated", "real", "auc")))
        for one in columns[:_TOP]
    ]
    heads = ("what the judge sees", "generated", "real", "AUC")
    parts.append(
        Table.of(f"judged-by-{name}", heads, rows, title="What the judge goes by: means, and how well each tells")
    )
    prompts = digest.detail(generator, metric, "telling_prompts") or []
    shown = [
        (
            Cell(excerpt(one["prompt"])), number_cell(one["difference"], 2),
            Cell(excerpt(one["generated"])), Cell(excerpt(one["real"])),
        )
        for one in prompts
    ]  # fmt: skip
    if shown:
        of_prompts = ("prompt", "difference", "generated answer", "real answer")
        parts.append(
            Table.of(
                f"prompts-{name}", of_prompts, shown, texts=(2, 3), extra=True, title="Prompts that give it away most"
            )
        )
    words = digest.detail(generator, metric, "prompt_words") or []
    if words:
        of_word = ("word of the prompt", "prompts", "difference", "elsewhere", "p adjusted")
        of_words = [
            (
                one["word"], Cell(count(one["n_prompts"]), one["n_prompts"]), number_cell(one["difference"], 2),
                number_cell(one["elsewhere"], 2), Cell(p_value(one["p_adjusted"]), one["p_adjusted"]),
            )
            for one in words
        ]  # fmt: skip
        parts.append(Table.of(f"prompt-words-{name}", of_word, of_words, title="Prompts with which it is given away"))
    left = digest.detail(generator, metric, "prompts_left_out") or {}
    n_left = sum(left.values())
    told = f"{count(n_left)} prompts that only one side answers are left out of {metric}." if n_left else ""
    return [*parts, *notes(told)]


def prompted_line(digest: Digest, generator: str) -> str:
    """Return in a line what tells the answers most beside their prompts; empty where nothing that can be read does."""
    found = digest.first_detail(generator, "judged_by")
    for one in () if found is None else found[1]:
        if one["name"].startswith(_READABLE) and abs(one["auc"] - 0.5) >= _CLEAR:
            return f"beside the prompt: {one['name']} {_told(one, 'generated')} (real {_told(one, 'real')})"
    return ""


def _told(column: Mapping[str, Any], side: str) -> str:
    return number(column[side], _PLACES)
