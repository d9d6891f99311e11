"""What the page shows of each generator's text: what gives it away, and what the classifier saw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from textassay.comparison import DiscriminativeNgram, Explanation
from textassay.report.digest import Digest, excerpt
from textassay.report.explanation_text import curve_statement, prefix_statement
from textassay.report.judges import judged_alone
from textassay.report.number import count, level, number
from textassay.report.sentences import Examples

EXAMPLE_WIDTH = 280
_MOST_GIVEAWAYS = 12
_PER = 1000


@dataclass(frozen=True)
class Card:
    """One generator, or real text."""

    # Whose text; whether it is real
    name: str
    floor: bool
    figures: tuple[Markup, ...]  # Of the classifier: scores and receiver operating characteristic, those that there are
    explained: bool  # Whether there is an explanation; without one, what follows is empty but for `sentences`
    # (title, rows of (n-gram, times in 1,000 generated sentences, times in 1,000 real ones), how many are not shown)
    giveaways: tuple[tuple[str, tuple[tuple[str, str, str], ...], int], ...]
    tested: str  # How many n-grams were tested and how many of those shown may be luck
    # (title, figure, what it says or shows) of dd by length and of the first tokens, evidence by place, and dd by
    # sample size
    charts: tuple[tuple[str, Markup, str], ...]
    notes: tuple[str, ...]  # What a reader has to know besides
    # (title, (score, text, how often) of the most telling)
    sentences: tuple[tuple[str, tuple[tuple[str, str, int], ...]], ...]


def generator_cards(
    digest: Digest, figures: Mapping[tuple[str, str], Markup], examples: Mapping[str, Examples]
) -> list[Card]:  # fmt: skip
    """Return the cards of those generators and rows of real text of which there is something to show."""
    explanations = {explanation.generator: explanation for explanation in digest.comparison.explanations}
    cards = []
    for name in (*digest.order, *digest.floors):
        found = explanations.get(name)
        drawn = tuple(figures[kind, name] for kind in ("scores", "roc") if (kind, name) in figures)
        if found is None and not drawn and name not in examples:
            continue
        cards.append(
            Card(
                name=name,
                floor=name in digest.floors,
                figures=drawn,
                explained=found is not None,
                giveaways=() if found is None else _giveaways(found),
                tested="" if found is None else _tested(found),
                charts=() if found is None else _charts(found, figures),
                notes=_notes(digest, name, found),
                sentences=_sentences(found, examples.get(name)),
            )
        )
    return cards


def _notes(digest: Digest, name: str, found: Explanation | None) -> tuple[str, ...]:
    """Return what a reader has to know of one generator: who judged it, and the notes of its explanation."""
    told = [judged_alone(digest, name, metric) for metric in digest.metrics]
    return (*filter(None, told), *(() if found is None else found.notes))


def _charts(found: Explanation, figures: Mapping[tuple[str, str], Markup]) -> tuple[tuple[str, Markup, str], ...]:
    charts = (
        ("lengths", "dd by length", "Thin lines: how many texts there are, real solid, generated dashed."),
        ("prefixes", "dd of the first tokens", prefix_statement(found)),
        (
            "positions",
            "Evidence by place in the text",
            "Log-odds of being real that the words there add: real texts solid, generated ones dashed.",
        ),
        ("curve", "dd with more text", curve_statement(found)),
    )
    return tuple(
        (title, figures[kind, found.generator], text)
        for kind, title, text in charts
        if (kind, found.generator) in figures
    )


def _giveaways(found: Explanation) -> tuple[tuple[str, tuple[tuple[str, str, str], ...], int], ...]:
    lists = (("Says too often", found.overused), ("Says too rarely", found.more_real))
    return tuple(
        (title, tuple(map(_row, giveaways[:_MOST_GIVEAWAYS])), max(0, len(giveaways) - _MOST_GIVEAWAYS))
        for title, giveaways in lists
    )


def _row(giveaway: DiscriminativeNgram) -> tuple[str, str, str]:
    return giveaway.ngram, _per_thousand(giveaway.share_generated), _per_thousand(giveaway.share_real)


def _per_thousand(share: float) -> str:
    times = _PER * share
    return number(times, 0 if times >= 10 or times == 0 else 1 if times >= 0.1 else 2)


def _tested(found: Explanation) -> str:
    return (
        f"{count(found.n_tested)} n-grams were tested; adjusted for that, "
        f"at most {level(1 - found.level)} of those that pass are expected to be luck."
    )


def _sentences(
    found: Explanation | None, examples: Examples | None
) -> tuple[tuple[str, tuple[tuple[str, str, int], ...]], ...]:
    lists: Sequence[tuple[str, Sequence[tuple[float, str, int]]]]
    if found is not None:
        lists = [
            (title, [(example.score, excerpt(example.text, EXAMPLE_WIDTH, evidence), 1) for example in part])
            for title, part, evidence in (
                ("Most generated-looking", found.most_generated, found.overused),
                ("Most lifelike", found.most_lifelike, found.more_real),
                ("Real, mistaken for generated", found.mistaken, found.overused),
            )
        ]
    elif examples is not None:
        lists = [
            (title, [(example.score, example.text, example.count) for example in part])
            for title, part in (
                ("Most generated-looking", examples.most_generated),
                ("Most lifelike", examples.most_lifelike),
            )
        ]
    else:
        lists = []
    return tuple((title, tuple((f"{score:.2f}", text, n) for score, text, n in part)) for title, part in lists if part)
