"""What gives a generator away, as a document: n-grams, lengths, places, texts, and whether more text would help."""

import math
from collections.abc import Sequence
from typing import Literal

from textassay.comparison.draw import Draw
from textassay.comparison.explanation import FLAT, HALF, DiscriminativeNgram, Example, Explanation, StructuralDifference
from textassay.corpus.letters import join_letters
from textassay.report.cells import count_cell, number_cell
from textassay.report.comparison_figures import step_points
from textassay.report.digest import phrase_of
from textassay.report.document import (
    Cell,
    Column,
    Document,
    Figure,
    Paragraph,
    Part,
    Table,
    TextEntry,
    Texts,
    items,
    notes,
    section,
)
from textassay.report.draws import drawn_section, drawn_sentences
from textassay.report.number import MISSING, count, level, number, p_value, span
from textassay.report.plots import Axis, Curves, Point, Reference, Series
from textassay.report.words import slug

TOP = 10
_PLACES = 3
_ENDS = ("<sos>", "<eos>")
_SMALL = (3.4, 2.1)
_PLURAL = {"begins": "begin", "ends": "end", "has": "have", "repeats": "repeat"}
_SIDES: tuple[tuple[Literal["real", "generated"], int], ...] = (
    ("real", 0),
    ("generated", 1),
)  # with the pattern of its line
_HEIGHT_OF_COUNTS = 0.3  # of the figure of lengths


def explanation_document(
    explanations: Sequence[Explanation], *, top: int = TOP, version: str = "", draws: Sequence[Draw] = ()
) -> Document:
    """Return what gives each generator away, with `top` n-grams each way, and what was drawn."""
    title = "What gives it away" if len(explanations) == 1 else "What gives them away"
    sections = [
        section(f"What gives {one.generator} away: dd {number(one.value, _PLACES)}", *explanation_parts(one, top=top))
        for one in explanations
    ]
    answer = tuple(f"{one.generator}: dd {number(one.value, _PLACES)}. {_most_telling(one)}" for one in explanations)
    if draws:
        sections.append(drawn_section(draws))
    return Document(title, (*answer, *drawn_sentences(draws)), sections=tuple(sections), version=version)


def explanation_parts(explanation: Explanation, *, top: int = TOP, texts: Texts | None = None) -> list[Part]:
    """Return the parts of the section of one generator; `texts` in place of the few texts of the explanation."""
    ngrams = [("Phrases in many generated texts", explanation.boilerplate)] * bool(explanation.boilerplate)
    ngrams += [
        ("More often in generated text", explanation.more_generated),
        ("More often in real text", explanation.more_real),
    ]
    parts = [
        *items([structure_statement(one) for one in explanation.structure]),
        _structure_table(explanation),
        *(_ngrams(explanation, title, giveaways, top) for title, giveaways in ngrams if top),
        *notes(_tests(explanation) if top and any(giveaways for _, giveaways in ngrams) else ""),
        _lengths_table(explanation),
        *_half_note(explanation),
        lengths_figure(explanation),
        _prefixes_table(explanation),
        *(notes(prefix_statement(explanation)) if explanation.prefixes else ()),
        prefixes_figure(explanation),
        _positions_table(explanation),
        positions_figure(explanation),
        texts or _texts(explanation),
        *(() if texts else notes(*(f"{title}: none." for title, part in _lists(explanation) if not part))),
        _curve_table(explanation),
        *notes(curve_statement(explanation)),
        curve_figure(explanation),
        *notes(*explanation.notes),
    ]
    return [part for part in parts if part is not None]


def giveaway_items(explanation: Explanation, *, most: int = 5) -> tuple[Paragraph, ...]:
    """Return in two items what a generator says too often and too rarely."""
    lists = (("Says too often", explanation.overused), ("Says too rarely", explanation.more_real))
    told = [structure_statement(one) for one in explanation.structure[:most]]
    for title, giveaways in lists:
        shown = [
            f"{written(one)} ({_percent(one.share_generated)}, real {_percent(one.share_real)})" for one in giveaways
        ]
        told.append(f"{title}: {'; '.join(shown[:most]) or 'no n-gram stands out'}")
    return items(told)


def structure_statement(difference: StructuralDifference) -> str:
    """Return a structural difference in words: "91.0 % begin with 'Certainly', real 0.4 %"."""
    if difference.kind == "share":
        verb, _, rest = difference.trait.partition(" ")
        trait = f"{_PLURAL[verb]} {rest}"
        return f"{_percent(difference.generated)} {trait}, real {_percent(difference.real)}"
    places = _places(difference)
    values = (number(value, places) for value in (difference.generated, difference.real))
    return f"{difference.trait[0].upper()}{difference.trait[1:]}: {' on average, real '.join(values)}"


def _places(difference: StructuralDifference) -> int:
    """Return the decimal places of a mean: enough for a difference to be seen."""
    gap = abs(difference.generated - difference.real)
    return 1 if gap >= 1 else 2 if gap >= 0.1 else 3 if gap >= 0.01 else 4


def curve_statement(explanation: Explanation) -> str:
    """Return in words whether more text would raise dd."""
    share = level(explanation.level)
    if explanation.rise is None or len(explanation.curve) < 2:
        return "There is too little text to tell whether dd still rises with the sample: no half of it can be judged."
    half, full = explanation.curve[-2:]
    added = (
        f"Going from {count(half.n_real)} real and {count(half.n_generated)} generated texts to "
        f"{count(full.n_real)} and {count(full.n_generated)} changed dd by "
        f"{number(explanation.rise, _PLACES, sign=True)} ({share} interval "
        f"{number(explanation.rise_low, _PLACES, sign=True)} to {number(explanation.rise_high, _PLACES, sign=True)})"
    )
    if explanation.rising:
        return f"Still rising. {added}: at this size dd understates what this classifier can find."
    if explanation.rising is None:
        return f"Not clear at this size. {added}, which leaves open whether more text would show more."
    return f"Levelled off. {added}, which is less than {FLAT:g}: this classifier has about found what it can find."


def prefix_statement(explanation: Explanation) -> str:
    """Return in words after how many tokens dd reaches one half."""
    if not explanation.prefixes:
        return "Most texts have no token: there is nothing to cut."
    longest = explanation.prefixes[-1].n_tokens
    half, low, high = explanation.half_length, explanation.half_low, explanation.half_high
    share = level(explanation.level)
    if half is None:
        begin = f"dd does not reach one half within the first {_tokens(longest)}"
        return (
            f"{begin}." if low is None else f"{begin}, though its {share} interval holds it from {number(low, 1)} on."
        )
    end = f"beyond {longest}" if high is None else number(high, 1)
    where = "within the first token" if half <= 1 else f"after {number(half, 1)} tokens"
    return f"dd reaches one half {where} ({share} interval {number(low, 1)} to {end} tokens)."


def lengths_figure(explanation: Explanation) -> Figure | None:
    """Return dd with its interval among short and long texts, over how many there are; None without bins."""
    bins = explanation.lengths
    if not bins:
        return None
    ends = [x for one in bins for x in (one.value, one.low, one.high) if x is not None]
    low, high = min([0.0, *ends]), max([0.2, *ends])
    counts = {side: [getattr(one, f"n_{side}") for one in bins] for side, _ in _SIDES}
    shares = {side: [k / (sum(n) or 1) for k in n] for side, n in counts.items()}
    unit = _HEIGHT_OF_COUNTS * high / (max(map(max, shares.values())) or 1.0)  # of a share, in the units of dd
    edges = [place - 0.5 for place in range(len(bins) + 1)]
    series = [
        Series(f"share of {side} texts", step_points(edges, [unit * share for share in shares[side]]), colour=side,
               steps=True, thin=True, dashes=dashes)
        for side, dashes in _SIDES
    ]  # fmt: skip
    points = tuple(Point(place, one.value, one.low, one.high) for place, one in enumerate(bins))
    series.append(Series("dd", points, colour="generated", line=False))
    names = [_span(one.shortest, one.longest) for one in bins]
    shown = [*names[:-1], f"{bins[-1].shortest}+"] if len(bins) > 1 else names
    x = Axis("tokens in the text", (-0.6, len(bins) - 0.4), ticks=tuple(map(float, range(len(bins)))),
             labels=tuple(shown))  # fmt: skip
    told = "; ".join(
        f"{name} tokens {'too few' if one.value is None else number(one.value, 2)}"
        for name, one in zip(names, bins, strict=True)
    )
    margin = 0.05 * (high - low)
    return Figure(
        f"lengths-{slug(explanation.generator)}",
        _curves(series, x, Axis("dd", (low - margin, high + margin)), Reference(0.0, "y", colour="rule")),
        "dd by length. Thin lines: how many texts there are, real solid, generated dashed.",
        f"dd of {explanation.generator} by length: {told}.",
    )


def prefixes_figure(explanation: Explanation) -> Figure | None:
    """Return dd of the first tokens with its intervals, and where it reaches one half; None where there is none."""
    points = explanation.prefixes
    if not points:
        return None
    half = explanation.half_length
    references = [Reference(HALF, "y", colour="rule")]
    references += [] if half is None else [Reference(half, "x", colour="ink", dashed=True)]
    low = min(0.0, *(one.low for one in points)) - 0.02
    told = ", ".join(f"{number(one.value, 3)} of {count(one.n_tokens)}" for one in points)
    line = [Point(one.n_tokens, one.value, one.low, one.high) for one in points]
    x = Axis("first tokens of each text", (0, points[-1].n_tokens + 0.5))
    return Figure(
        f"prefixes-{slug(explanation.generator)}",
        _curves([_dd_line(line)], x, Axis("dd", (low, 1.02)), *references),
        f"dd of the first tokens. {prefix_statement(explanation)}",
        f"dd of the first tokens, {explanation.generator}: {told}.",
    )


def positions_figure(explanation: Explanation) -> Figure | None:
    """Return the evidence of the tokens in each part of the text, of both sides; None without bins."""
    bins = explanation.positions
    if not bins:
        return None
    edges = [100 * one.begin for one in bins] + [100 * bins[-1].end]
    series = [
        Series(side, step_points(edges, [getattr(one, f"evidence_{side}") for one in bins]),
               colour=side, steps=True, fill=True, dashes=dashes)
        for side, dashes in _SIDES
    ]  # fmt: skip
    told = "; ".join(
        f"{100 * one.begin:.0f} to {100 * one.end:.0f} %: real {number(one.evidence_real, 2)}, "
        f"generated {number(one.evidence_generated, 2)}"
        for one in bins
    )
    x = Axis("place in the text", (edges[0], edges[-1]), ticks=(edges[0], edges[-1]), labels=("begin", "end"))
    return Figure(
        f"positions-{slug(explanation.generator)}",
        _curves(series, x, Axis("nats for real"), Reference(0.0, "y")),
        "Log-odds of being real that the words at each place add: real texts solid, generated ones dashed.",
        f"Evidence for being real by place in the text, {explanation.generator}: {told}.",
    )


def curve_figure(explanation: Explanation) -> Figure | None:
    """Return dd at growing sample sizes with its intervals; None where there is none."""
    curve = explanation.curve
    if not curve:
        return None
    told = ", ".join(f"{number(one.value, 3)} of {count(one.n_generated)}" for one in curve)
    line = [Point(one.n_generated, one.value, one.low, one.high) for one in curve]
    x = Axis("generated texts", scale="log2", ticks=_spaced([one.n_generated for one in curve]))
    return Figure(
        f"curve-{slug(explanation.generator)}",
        _curves([_dd_line(line)], x, Axis("dd")),
        f"dd with more text. {curve_statement(explanation)}",
        f"dd of {explanation.generator} by number of texts: {told}.",
    )


def _dd_line(points: Sequence[Point]) -> Series:
    return Series("dd", tuple(points), colour="generated", band=True)


def _curves(series: Sequence[Series], x: Axis, y: Axis, *references: Reference) -> Curves:
    return Curves(tuple(series), x, y, references=references, legend=False, size=_SMALL)


def _ngrams(explanation: Explanation, title: str, giveaways: Sequence[DiscriminativeNgram], top: int) -> Table:
    rows = [
        (
            Cell(written(one)),
            Cell(count(one.n_generated), one.n_generated, _percent(one.share_generated)),
            Cell(count(one.n_real), one.n_real, _percent(one.share_real)),
            Cell(p_value(one.p_adjusted), one.p_adjusted),
        )
        for one in giveaways[:top]
    ]
    beyond = len(giveaways) - top
    told = ["No n-gram is significantly so."] if not giveaways else [f"and {count(beyond)} more."] if beyond > 0 else []
    name = f"ngrams-{slug(title)}-{slug(explanation.generator)}"
    return Table.of(name, ("n-gram", "in generated", "in real", "p adjusted"), rows, title=title, notes=told)


def written(ngram: DiscriminativeNgram) -> str:
    """Return an n-gram as it is written: without spaces between letters of scripts that have none between words."""
    return join_letters(ngram.ngram.split(" "))


def _structure_table(explanation: Explanation) -> Table | None:
    rows = []
    for one in explanation.structure:
        if one.kind == "share":
            trait, interval = one.trait, f"{span(100 * one.low, 100 * one.high, 1)} %"
            values = [Cell(_percent(value), value) for value in (one.generated, one.real)]
        else:
            trait, interval = f"{one.trait} (mean)", span(one.low, one.high, _places(one))
            values = [number_cell(value, _places(one)) for value in (one.generated, one.real)]
        rows.append((Cell(trait), *values, Cell(interval), Cell(p_value(one.p_adjusted), one.p_adjusted)))
    heads = ("a text ...", "generated", "real", f"difference, {level(explanation.level)}", "p adjusted")
    return _table(explanation, "structure", "Structure of the documents", heads, rows)


def _tests(explanation: Explanation) -> str:
    rate = level(1 - explanation.level)
    text = (
        f"Texts that contain the n-gram, and their share. {count(explanation.n_tested)} n-grams were tested; p is "
        f"adjusted for that, {rate} false discoveries are expected among all below {1 - explanation.level:.3g}. "
        "An n-gram that adds nothing to those above it is left out."
    )
    shown = (*explanation.boilerplate, *explanation.more_generated, *explanation.more_real)
    if any(end in one.ngram.split(" ") for one in shown for end in _ENDS):
        text += " <sos> and <eos> are the beginning and the end of a text."
    return text


def _lengths_table(explanation: Explanation) -> Table | None:
    rows = [
        (
            Cell(_span(one.shortest, one.longest), one.shortest),
            count_cell(one.n_generated),
            count_cell(one.n_real),
            Cell(f"{MISSING} (too few)" if one.value is None else number(one.value, _PLACES), one.value),
            Cell(span(one.low, one.high, _PLACES)),
        )
        for one in explanation.lengths
    ]
    heads = ("tokens", "generated", "real", "dd", level(explanation.level))
    return _table(explanation, "lengths", "dd by length", heads, rows)


def _half_note(explanation: Explanation) -> tuple[Paragraph, ...]:
    half = explanation.half_bin
    if half is None:
        return ()
    if half.shortest == 0:
        return notes("Among the shortest texts dd is one half or more.")
    return notes(f"The shortest texts among which dd is one half or more have {_tokens(half.shortest)} or more.")


def _prefixes_table(explanation: Explanation) -> Table | None:
    rows = [
        (count_cell(one.n_tokens), number_cell(one.value, _PLACES), Cell(span(one.low, one.high, _PLACES)))
        for one in explanation.prefixes
    ]
    title = "dd of the first tokens, by logistic regression over n-grams"
    return _table(explanation, "prefixes", title, ("tokens", "dd", level(explanation.level)), rows)


def _positions_table(explanation: Explanation) -> Table | None:
    rows = []
    for one in explanation.positions:
        gap = one.evidence_real - one.evidence_generated
        cells = [Cell(number(x, 2, sign=True), x) for x in (one.evidence_real, one.evidence_generated, gap)]
        rows.append((Cell(f"{100 * one.begin:.0f}-{100 * one.end:.0f} %", one.begin), *cells))
    title = "Where in the text: evidence in favour of real, nats per text"
    return _table(explanation, "positions", title, ("part", "in real", "in generated", "difference"), rows)


def _curve_table(explanation: Explanation) -> Table | None:
    rows = [
        (count_cell(one.n_generated), count_cell(one.n_real), number_cell(one.value, _PLACES),
         Cell(span(one.low, one.high, _PLACES)))
        for one in explanation.curve
    ]  # fmt: skip
    heads = ("generated", "real", "dd", level(explanation.level))
    return _table(explanation, "curve", "dd with more text", heads, rows)


def _table(
    explanation: Explanation, name: str, title: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]
) -> Table | None:
    if not rows:
        return None
    columns = [Column(head) for head in heads]
    return Table.of(f"{name}-{slug(explanation.generator)}", columns, rows, title=title)


def _lists(explanation: Explanation) -> tuple[tuple[str, Sequence[Example]], ...]:
    return (
        ("Most clearly generated", explanation.most_generated),
        ("Most lifelike", explanation.most_lifelike),
        ("Real, mistaken for generated", explanation.mistaken),
    )


def _texts(explanation: Explanation) -> Texts | None:
    lists = _lists(explanation)
    entries = tuple(TextEntry(one.text, score=one.score, group=title) for title, part in lists for one in part)
    if not entries:
        return None
    return Texts(f"texts-{slug(explanation.generator)}", entries, phrases_of(explanation),
                 score="probability of being real")  # fmt: skip


def phrases_of(explanation: Explanation) -> tuple[str, ...]:
    """Return the n-grams that speak, to be marked in texts."""
    telling = (*explanation.overused, *explanation.more_real)
    return tuple(dict.fromkeys(filter(None, (phrase_of(one.ngram) for one in telling))))


def _most_telling(explanation: Explanation) -> str:
    if explanation.structure:
        return structure_statement(explanation.structure[0])
    if not explanation.overused:
        return "No n-gram stands out."
    first = explanation.overused[0]
    return (
        f"Most telling: {written(first)}, in {_percent(first.share_generated)} of its texts and in "
        f"{_percent(first.share_real)} of the real ones."
    )


def _spaced(sizes: Sequence[int]) -> tuple[float, ...]:
    """Return those sizes, the largest among them, whose labels have room on a logarithmic axis."""
    room = math.log2(max(sizes) / min(sizes)) / 4 if min(sizes) < max(sizes) else 1
    kept = [max(sizes)]
    for size in sorted(sizes, reverse=True)[1:]:
        if math.log2(kept[-1] / size) >= room * 0.99:
            kept.append(size)
    return tuple(map(float, reversed(kept)))


def _tokens(n: int) -> str:
    return "1 token" if n == 1 else f"{count(n)} tokens"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else "<0.1 %"


def _span(shortest: int, longest: int) -> str:
    return str(shortest) if shortest == longest else f"{shortest}\N{EN DASH}{longest}"
