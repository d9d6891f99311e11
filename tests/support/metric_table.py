"""The table of all metrics in the docs, from their declarations: `python tests/support/metric_table.py --write`."""

import argparse
import math
from pathlib import Path

from textassay.metric.base import Declaration
from textassay.metric.catalog import CATALOG, GROUPS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics" / "index.md"
FIRST, LAST = "| metric |", "\n\n"
DETECTORS = "#detectors-of-machine-text"  # the section of them all
BEST = {"lower": "lower", "higher": "higher", "closer": "as real text", "neither": ""}


def table() -> str:
    """Return the table in Markdown."""
    head = [
        "metric",
        "what it is",
        "unit, range",
        "best",
        "moves with size",
        "cannot see",
        "needs",
        "cost",
    ]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join(_cells(declared))} |" for declared in CATALOG.values()]
    return "\n".join(lines)


def _cells(declared: Declaration) -> list[str]:
    needs = [f"`--{'prompt-column' if need == 'prompts' else need}`" for need in declared.needs]
    if "encoder" in declared.parameters and declared.parameters["encoder"].default is not None:
        needs.append("vectors")
    if declared.only_named:
        needs.append("naming")
    cost = declared.cost if declared.most is None else f"{declared.cost}; {declared.most:,} texts unless named"
    return [
        f"[{declared.name}]({DETECTORS if declared.name in GROUPS['detectors'] else f'{declared.name}.md'})",
        declared.summary,
        f"{declared.unit}, {_range(*declared.bounds)}",
        BEST[declared.better],
        "yes" if declared.size_sensitive else "",
        ", ".join(declared.cannot_see),
        ", ".join(needs),
        cost,
    ]


def _range(low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return "any"
    return f"at least {low:g}" if math.isinf(high) else f"{low:g} to {high:g}"


def page(text: str) -> str:
    """Return the page with the table of today."""
    start = text.index(FIRST)
    end = text.index(LAST, start)
    return text[:start] + table() + text[end:]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write it into the page instead of printing it")
    if parser.parse_args().write:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table())
