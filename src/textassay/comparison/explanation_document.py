"""What gives a generator away, as a document: n-grams, lengths, places, texts, and whether more text would help."""

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from textassay.comparison.comparison import Draw
from textassay.comparison.digest import phrase_of
from textassay.comparison.draw_document import drawn_section, drawn_sentences
from textassay.comparison.explanation import (
    FLAT,
    HALF,
    CurvePoint,
    DiscriminativeNgram,
    Example,
    Explanation,
    LengthBin,
    PrefixPoint,
    StructuralDifference,
)
from textassay.comparison.figures import step_points
from textassay.corpus.tokenizer import join_letters
from textassay.report.document import (
    Document,
    Figure,
    Paragraph,
    Part,
    TextEntry,
    Texts,
    items,
    notes,
    section,
    sections,
)
from textassay.report.plots import Axis, Colour, Curves, Point, Reference, Series
from textassay.report.table import (
    Cell,
    Column,
    Table,
    as_is,
    count_cell,
    differences,
    interval_cell,
    intervals,
    number_cell,
    numbers,
    p_cell,
    text_cell,
)
from textassay.report.text import MISSING, count, counted, join_words, level, number, shorten, slug, span

TOP = 10
_PLACES = 3
_TOO_OFTEN, _TOO_RARELY = "Says too often", "Says too rarely"
_ENDS = ("<sos>", "<eos>")
_WHERE = dict(zip(_ENDS, ("at the start", "at the end"), strict=True))
_LEAST_PHRASE = 12  # characters
_SMALL = (3.4, 2.1)
_WIDE = (4.4, 2.1)
_PANEL, _MOST_PANELS = (2.4, 1.5), 4  # of the figures of many generators, and how many beside each other
MOST_IN_FULL = 4  # generators that have figures of their own
_PLURAL = {"begins": "begin", "ends": "end", "has": "have", "repeats": "repeat"}
_SIDES: tuple[tuple[Literal["real", "generated"], int], ...] = (
    ("real", 0),
    ("generated", 1),
)  # with the pattern of its line
_HEIGHT_OF_COUNTS = 0.3  # of the figure of lengths


def explanation_document(
    explanations: Sequence[Explanation] | Explanation, *, top: int = TOP, draws: Sequence[Draw] = ()
) -> Document:
    """Return what gives each generator away, with `top` n-grams each way, and what was drawn."""
    explanations = [explanations] if isinstance(explanations, Explanation) else explanations
    is_long = len(explanations) > MOST_IN_FULL
    multiples = small_multiples(explanations, ["generated"] * len(explanations)) if is_long else ()
    answer = [f"{one.generator}: dd {number(one.value, _PLACES)}. {_most_telling(one)}" for one in explanations]
    return Document(
        "What gives it away" if len(explanations) == 1 else "What gives them away",
        (*answer, *drawn_sentences(draws)),
        sections=sections(
            *(section(f"What gives {one.generator} away: dd {number(one.value, _PLACES)}",
                      *explanation_parts(one, top=top, figures=not is_long)) for one in explanations),
            section("Lengths, first tokens and sample size side by side", *multiples),
            drawn_section(draws),
        ),
    )  # fmt: skip


def explanation_parts(
    explanation: Explanation, *, top: int = TOP, colour: Colour = "generated", lists: bool = True, figures: bool = True
) -> list[Part]:
    """Return the parts of the section of one generator, drawn in its colour, with or without `lists` of its texts."""
    ngrams = [("Phrases in many generated texts", explanation.boilerplate)] * bool(explanation.boilerplate)
    ngrams += [
        ("More often in generated text", explanation.more_generated),
        ("More often in real text", explanation.more_real),
    ]
    found = top and any(giveaways for _, giveaways in ngrams)
    few = _texts(explanation) if lists else None
    parts: list[Part] = [
        *items([structure_statement(one) for one in explanation.structure]),
        _structure(explanation),
        *(_ngrams(explanation, title, giveaways, top) for title, giveaways in ngrams if top),
        *notes(_tests(explanation) if found else ""),
        *_lengths(explanation, colour),
        *_prefixes(explanation, colour),
        *_positions(explanation, colour),
        *([] if few is None else [few]),
        *(notes(*(f"{title}: none." for title, part in _lists(explanation) if not part)) if lists else ()),
        *_sizes(explanation, colour),
        *notes(*explanation.notes),
    ]
    return [part for part in parts if figures or not isinstance(part, Figure)]


def small_multiples(explanations: Sequence[Explanation], colours: Sequence[Colour]) -> Iterator[Figure]:
    """Yield the figures of many generators, a panel each."""
    values = [number(one.value, _PLACES).replace("-", "\N{MINUS SIGN}") for one in explanations]
    panels = tuple(f"{one.generator}: dd {value}" for one, value in zip(explanations, values, strict=True))
    sizes = [point.n_generated for one in explanations for point in one.curve]
    kinds: tuple[tuple[str, str, Axis, Axis, float, Callable[[Explanation], Iterable[Point]]], ...] = (
        ("lengths", "dd by length; a point stands at the shortest texts of its range.", Axis("tokens in the text"),
         Axis("dd"), HALF, lambda one: (Point(bin.shortest, bin.value, bin.low, bin.high) for bin in one.lengths)),
        ("prefixes", "dd of the first tokens.", Axis("first tokens of each text"), Axis("dd"), HALF,
         lambda one: (Point(point.n_tokens, point.value, point.low, point.high) for point in one.prefixes)),
        ("positions", "Log-odds of being real contributed by the words at each position, real texts less generated.",
         Axis("position in the text", percent=True), Axis("nats for real"), 0.0,
         lambda one: (Point((part.begin + part.end) / 2, part.evidence_real - part.evidence_generated)
                      for part in one.positions)),
        ("curve", "dd with more text.", Axis("generated texts", scale="log2", ticks=_spaced(sizes) if sizes else ()),
         Axis("dd"), HALF,
         lambda one: (Point(point.n_generated, point.value, point.low, point.high) for point in one.curve)),
    )  # fmt: skip
    for name, caption, x, y, reference, points in kinds:
        series = tuple(
            replace(_dd_line(tuple(points(one)), colour), panel=panel)
            for panel, (one, colour) in enumerate(zip(explanations, colours, strict=True))
        )
        plot = _curves(series, x, y, Reference(reference, "y", colour="rule"))
        if any(one.points for one in series):
            plot = replace(plot, panels=panels, size=_PANEL, most_columns=_MOST_PANELS)
            yield Figure(f"{name}-of-all", plot, caption)


def giveaway_items(explanation: Explanation, *, most: int = 5) -> tuple[Paragraph, ...]:
    """Return in up to two items what a generator says too often and too rarely, behind items on its structure."""
    told = [structure_statement(one) for one in explanation.structure[:most]]
    for title, giveaways in _says(explanation).items():
        shown = [
            f"{quoted(one.ngram)} ({_percent(one.share_generated)}, real {_percent(one.share_real)})"
            for one in giveaways[:most]
        ]
        told += [f"{title}: {'; '.join(shown)}"] if shown else []
    return items(told)


def nothing_stands_out(explanations: Sequence[Explanation]) -> tuple[Paragraph, ...]:
    """Return notes on the generators that say nothing too often, and nothing too rarely."""
    titles = (_TOO_OFTEN, _TOO_RARELY)
    of = {title: [one.generator for one in explanations if not _says(one)[title]] for title in titles}
    return notes(*(f"{title}: no n-gram stands out for {join_words(names)}." for title, names in of.items() if names))


def _says(explanation: Explanation) -> dict[str, Sequence[DiscriminativeNgram]]:
    return {_TOO_OFTEN: explanation.overused, _TOO_RARELY: explanation.more_real}


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
        return (
            "There is too little text to tell whether dd still rises with sample size: dd cannot be computed on half "
            "of it."
        )
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
        return f"Not clear at this size. {added}: it is not clear whether more text would show more."
    return f"Levelled off. {added}, less than {FLAT:g}: more text would help this classifier little."


def prefix_statement(explanation: Explanation) -> str:
    """Return in words after how many tokens dd reaches one half."""
    if not explanation.prefixes:
        return "Most texts have no token, so nothing can be cut."
    longest = explanation.prefixes[-1].n_tokens
    half, low, high = explanation.half_length, explanation.half_low, explanation.half_high
    share = level(explanation.level)
    if half is None:
        begin = f"dd does not reach one half within the first {counted(longest, 'token')}"
        return (
            f"{begin}."
            if low is None
            else f"{begin}, but its {share} interval includes lengths from {number(low, 1)} tokens."
        )
    end = f"beyond {longest}" if high is None else number(high, 1)
    where = "within the first token" if half <= 1 else f"after {number(half, 1)} tokens"
    return f"dd reaches one half {where} ({share} interval {number(low, 1)} to {end} tokens)."


def _ngrams(explanation: Explanation, title: str, giveaways: Sequence[DiscriminativeNgram], top: int) -> Table:
    def shown(n: int, share: float) -> Cell:
        return Cell(count(n), n, _percent(share))

    beyond = len(giveaways) - top
    told = ["No n-gram is significant."] if not giveaways else [f"and {count(beyond)} more."] if beyond > 0 else []
    name = f"ngrams-{slug(title)}-{slug(explanation.generator)}"
    return Table.of_items(name, giveaways[:top], [
        ("n-gram", written, text_cell),
        ("in generated", lambda one: shown(one.n_generated, one.share_generated), as_is),
        ("in real", lambda one: shown(one.n_real, one.share_real), as_is),
        ("p adjusted", "p_adjusted", p_cell),
    ], title=title, notes=told)  # fmt: skip


def written(ngram: DiscriminativeNgram) -> str:
    """Return an n-gram as it is written: without spaces between letters of scripts that have none between words."""
    return join_letters(ngram.ngram.split(" "))


def quoted(ngram: str, width: int = 1000) -> str:
    """Return an n-gram in quotes, in about `width` characters, what is said of the ends of a text behind it."""
    if ngram == "<sos> <eos>":
        return "an empty text"
    tokens = ngram.split(" ")
    where = "".join(f" {_WHERE[token]}" for token in (tokens[0], tokens[-1]) if token in _WHERE and len(tokens) > 1)
    words = join_letters(token for token in tokens if not where or token not in _WHERE)
    room = max(_LEAST_PHRASE, width - len(where) - 2)
    return f'"{textwrap.shorten(words, room, placeholder=" …") if " " in words else shorten(words, room)}"{where}'


def _tests(explanation: Explanation) -> str:
    rate = level(1 - explanation.level)
    text = (
        f"Texts that contain the n-gram, and their share. {count(explanation.n_tested)} n-grams were tested; p is "
        f"adjusted for that, {rate} false discoveries are expected among all below {1 - explanation.level:.3g}. "
        "N-grams that add nothing to those above them are left out."
    )
    shown = (*explanation.boilerplate, *explanation.more_generated, *explanation.more_real)
    if any(end in one.ngram.split(" ") for one in shown for end in _ENDS):
        text += " <sos> and <eos> are the beginning and the end of a text."
    return text


def _structure(explanation: Explanation) -> Table:
    def value(one: StructuralDifference, side: str) -> Cell:
        of_side = getattr(one, side)
        return Cell(_percent(of_side), of_side) if one.kind == "share" else number_cell(of_side, _places(one))

    def difference(one: StructuralDifference) -> Cell:
        percent = Cell(f"{span(100 * one.low, 100 * one.high, 1)} %")
        return percent if one.kind == "share" else interval_cell((one.low, one.high), _places(one))

    return Table.of_items(f"structure-{slug(explanation.generator)}", explanation.structure, [
        ("a text ...", lambda one: one.trait if one.kind == "share" else f"{one.trait} (mean)", text_cell),
        ("generated", partial(value, side="generated"), as_is),
        ("real", partial(value, side="real"), as_is),
        (f"difference, {level(explanation.level)}", difference, as_is),
        ("p adjusted", "p_adjusted", p_cell),
    ], title="Structure of the documents")  # fmt: skip


def _ends(one: LengthBin | PrefixPoint | CurvePoint) -> tuple[float | None, float | None]:
    return one.low, one.high


def _lengths(explanation: Explanation, colour: Colour) -> Iterator[Part]:
    """Yield dd among short and long texts, over how many there are."""
    bins = explanation.lengths
    if not bins:
        return
    name = f"lengths-{slug(explanation.generator)}"
    too_few = Cell(f"{MISSING} (too few)")
    yield Table.of_items(name, bins, [
        (Column("tokens"), lambda one: Cell(_span(one), one.shortest), as_is),
        ("generated", "n_generated", count_cell),
        ("real", "n_real", count_cell),
        ("dd", lambda one: too_few if one.value is None else number_cell(one.value, _PLACES), as_is),
        (level(explanation.level), _ends, intervals(_PLACES)),
    ], title="dd by length")  # fmt: skip
    half = explanation.half_bin
    if half is not None:
        which = f"texts of {counted(half.shortest, 'token')} or more" if half.shortest else "even the shortest texts"
        yield Paragraph(f"dd is one half or more among {which}.", "note")
    ends = [x for one in bins for x in (one.value, one.low, one.high) if x is not None]
    low, high = min([0.0, *ends]), max([0.2, *ends])
    margin = 0.05 * (high - low)
    points = tuple(Point(place, one.value, one.low, one.high) for place, one in enumerate(bins))
    series = [Series("dd", points, colour=colour, line=False)]
    counts = {side: [getattr(one, f"n_{side}") for one in bins] for side, _ in _SIDES}
    shares = {side: [k / (sum(n) or 1) for k in n] for side, n in counts.items()}
    unit = _HEIGHT_OF_COUNTS * high / (max(map(max, shares.values())) or 1.0)  # of a share, in the units of dd
    edges = [place - 0.5 for place in range(len(bins) + 1)]
    for side, dashes in _SIDES:
        heights = step_points(edges, [unit * share for share in shares[side]])
        ink = colour if side == "generated" else side
        series.append(Series(f"share of {side} texts", heights, ink, steps=True, thin=True, dashes=dashes))
    shown = [*map(_span, bins[:-1]), f"{bins[-1].shortest}+" if len(bins) > 1 else _span(bins[-1])]
    ticks = tuple(map(float, range(len(bins))))
    x = Axis("tokens in the text", (-0.6, len(bins) - 0.4), ticks=ticks, labels=tuple(shown))
    plot = _curves(series, x, Axis("dd", (low - margin, high + margin)), Reference(0.0, "y", colour="rule"))
    plot = replace(plot, size=_WIDE)  # its ticks are ranges
    yield Figure(name, plot, "dd by length. Thin lines: number of texts, real solid, generated dashed.")


def _prefixes(explanation: Explanation, colour: Colour) -> Iterator[Part]:
    """Yield dd of the first tokens, and where it reaches one half."""
    points = explanation.prefixes
    if not points:
        return
    name = f"prefixes-{slug(explanation.generator)}"
    yield Table.of_items(name, points, [
        ("tokens", "n_tokens", count_cell),
        ("dd", "value", numbers(_PLACES)),
        (level(explanation.level), _ends, intervals(_PLACES)),
    ], title="dd of the first tokens, by logistic regression over n-grams")  # fmt: skip
    yield Paragraph(prefix_statement(explanation), "note")
    half = explanation.half_length
    references = [Reference(HALF, "y", colour="rule")]
    references += [] if half is None else [Reference(half, "x", colour="ink", dashed=True)]
    line = tuple(Point(one.n_tokens, one.value, one.low, one.high) for one in points)
    x = Axis("first tokens of each text", (0, points[-1].n_tokens + 0.5))
    y = Axis("dd", (min(0.0, *(one.low for one in points)) - 0.02, 1.02))
    yield Figure(name, _curves([_dd_line(line, colour)], x, y, *references), "dd of the first tokens.")


def _positions(explanation: Explanation, colour: Colour) -> Iterator[Part]:
    """Yield the evidence of the tokens in each part of the text, of both sides."""
    bins = explanation.positions
    if not bins:
        return
    name = f"positions-{slug(explanation.generator)}"
    yield Table.of_items(name, bins, [
        (Column("part"), lambda one: Cell(f"{100 * one.begin:.0f}-{100 * one.end:.0f} %", one.begin), as_is),
        ("in real", "evidence_real", differences(2)),
        ("in generated", "evidence_generated", differences(2)),
        ("difference", lambda one: one.evidence_real - one.evidence_generated, differences(2)),
    ], title="Evidence for real by position in the text, nats per text")  # fmt: skip
    edges = [100 * one.begin for one in bins] + [100 * bins[-1].end]
    series = []
    for side, dashes in _SIDES:
        heights = step_points(edges, [getattr(one, f"evidence_{side}") for one in bins])
        ink = colour if side == "generated" else side
        series.append(Series(side, heights, ink, steps=True, fill=True, dashes=dashes))
    x = Axis("position in the text", (edges[0], edges[-1]), ticks=(edges[0], edges[-1]), labels=("begin", "end"))
    plot = _curves(series, x, Axis("nats for real"), Reference(0.0, "y"))
    caption = (
        "Log-odds of being real contributed by the words at each position: real texts solid, generated ones dashed."
    )
    yield Figure(name, plot, caption)


def _sizes(explanation: Explanation, colour: Colour) -> Iterator[Part]:
    """Yield dd at growing sample sizes, and whether more text would raise it."""
    curve, name = explanation.curve, f"curve-{slug(explanation.generator)}"
    yield Table.of_items(name, curve, [
        ("generated", "n_generated", count_cell),
        ("real", "n_real", count_cell),
        ("dd", "value", numbers(_PLACES)),
        (level(explanation.level), _ends, intervals(_PLACES)),
    ], title="dd with more text")  # fmt: skip
    yield Paragraph(curve_statement(explanation), "note")
    if curve:
        line = tuple(Point(one.n_generated, one.value, one.low, one.high) for one in curve)
        x = Axis("generated texts", scale="log2", ticks=_spaced([one.n_generated for one in curve]))
        yield Figure(name, _curves([_dd_line(line, colour)], x, Axis("dd")), "dd with more text.")


def _dd_line(points: tuple[Point, ...], colour: Colour) -> Series:
    return Series("", points, colour=colour, band=True)


def _curves(series: Sequence[Series], x: Axis, y: Axis, *references: Reference) -> Curves:
    return Curves(tuple(series), x, y, references=references, legend=False, size=_SMALL)


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
    """Return the n-grams that speak, to be marked in texts; none without a letter or digit."""
    telling = (*explanation.overused, *explanation.more_real)
    phrases = (phrase_of(one.ngram) for one in telling)
    return tuple(dict.fromkeys(phrase for phrase in phrases if any(map(str.isalnum, phrase))))


def _most_telling(explanation: Explanation) -> str:
    if explanation.structure:
        return structure_statement(explanation.structure[0])
    telling = (*explanation.overused, *explanation.more_real)
    if not telling:
        return "No n-gram stands out."
    first = telling[0]
    return (
        f"Most telling: {quoted(first.ngram)}, in {_percent(first.share_generated)} of its texts and in "
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


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else "<0.1 %"


def _span(one: LengthBin) -> str:
    return str(one.shortest) if one.shortest == one.longest else f"{one.shortest}\N{EN DASH}{one.longest}"
