"""What a text costs under the average output of a generator, as a document."""

from collections.abc import Iterator, Mapping

from textassay.report.document import Document, Figure, Paragraph, notes, section, sections
from textassay.report.plots import CYCLE, Axis, Curves, Point, Reference, Series
from textassay.report.table import (
    Cell,
    Column,
    Table,
    as_is,
    count_cell,
    interval_cell,
    number_cell,
    numbers,
    places_of,
)
from textassay.report.text import count, counted, interval, level, number
from textassay_lab.approximation.approximation import EPSILON, GAMMA, Approximation
from textassay_lab.approximation.stopping_rule import RuleCurve
from textassay_lab.approximation.token_counts import floor_bits
from textassay_lab.generator.text_likelihood import Quantity

_MODE_WORDS = {
    "multinomial": "counts of draws from the softmax",
    "onehot": "one-hot average of its own draws",
    "soft": "average of its distributions, one per noise vector",
    "exact": "the softmax, nothing drawn",
}
_FEW = 10
_LARGE = 10_000  # perplexities from which on decimals say nothing
_MOST_NEVER = 0.01  # of tokens, never drawn; above, the approximate value mostly says what the floor is
_LEAST_SHARE = 1e-4  # of tokens; a smaller one is said to be below it
_ROUND = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000)  # ticks


def approximation_document(approximation: Approximation, *, text: str = "the text", tokenizer: str = "") -> Document:
    """Return what `text` costs under a generator, with fewer draws, and how many are enough."""
    rule, generator = approximation.rule, approximation.generator
    return Document(
        f"{text} under {generator}",
        (_answer(approximation, text), *_never_drawn(approximation)),
        tuple(_facts(approximation, text, tokenizer)),
        sections(
            section("Cost of the text", _values(approximation), *notes(*_notes(approximation))),
            section("With fewer draws", _curve(approximation), _bits_figure(approximation))
            if len(approximation.curve) > 1 else None,
            None if rule is None else
            section("How many draws are enough", Paragraph(" ".join(_rule(approximation, rule))),
                    rules_figure({generator: rule})),
        ),
        lead="bits-against-draws",
    )  # fmt: skip


def rules_figure(rules: Mapping[str, RuleCurve]) -> Figure:
    """Return the stopping rule of one generator or several: changes as lines, true errors, where known, as dashes."""
    series = []
    for place, (name, rule) in enumerate(rules.items()):
        colour = CYCLE[(place + 1) % len(CYCLE)]
        changes = tuple(map(Point, rule.sizes, rule.differences))
        slope = f"log-log slope {number(rule.slope, 2)}"
        series.append(Series(f"{name}: change over {rule.alpha} draws, {slope}", changes, colour, dots=False))
        if rule.errors is not None:
            errors = tuple(map(Point, rule.sizes, rule.errors))
            slope = f"slope {number(rule.error_slope, 2)}"
            series.append(Series(f"{name}: true error, {slope}", errors, colour, dots=False, dashes=1, thin=True))
        if rule.stops_at is not None:
            series.append(Series(f"{name}: stops here", (Point(rule.stops_at, rule.gamma),), colour, line=False))
    first = next(iter(rules.values()))
    longest = max(rule.sizes[-1] for rule in rules.values())
    ticks = tuple(float(size) for size in _ROUND if first.sizes[0] <= size <= longest)
    plot = Curves(
        tuple(series),
        Axis("draws a position, N", scale="log10", ticks=ticks),
        Axis("largest difference of a share", scale="log10"),
        references=(Reference(first.gamma, "y", f"{first.gamma:g}, which the rule requires", dashed=True),),
        size=(4.6, 2.7),
    )
    caption = "The stopping rule measures the change over the last draws, not the true error, which falls more slowly."
    return Figure("stopping-rule", plot, caption)


def _answer(approximation: Approximation, text: str) -> str:
    plain, corrected, exact = approximation.plain, approximation.corrected, approximation.exact
    unit = _unit(approximation)
    if plain is None or corrected is None:
        assert exact is not None
        values = f"{_with_interval(exact)} {unit} by its own probabilities"
    else:
        values = (
            f"{_with_interval(corrected)} {unit} (corrected) to {_with_interval(plain)} (approximate) by "
            f"{count(approximation.n_samples)} draws a position"
        )
        values += "" if exact is None else f"; exactly {_with_interval(exact)}"
    return f"Under {approximation.generator}, {text} costs {values}."


def _never_drawn(approximation: Approximation) -> Iterator[str]:
    """Yield what to know where so many tokens were never drawn that the floor decides the approximate value."""
    if approximation.mode != "exact" and approximation.zero_share > _MOST_NEVER:
        yield (
            f"{_percent(approximation.zero_share)} of tokens were never drawn and cost the floor, which dominates "
            "the approximate value: use more draws."
        )


def _unit(approximation: Approximation) -> str:
    return "bits per character" if approximation.characters_per_token == 1 else "bits per token"


def _with_interval(bits: Quantity) -> str:
    places = places_of(bits.value, bits.interval)
    return f"{number(bits.value, places)} {interval(bits.interval, places)}".rstrip()


def _facts(approximation: Approximation, text: str, tokenizer: str) -> Iterator[tuple[str, str]]:
    tokens = counted(approximation.n_tokens, "token") + (f" ({tokenizer})" if tokenizer else "")
    sizes = [_windows(approximation), tokens]
    sizes += [f"{counted(approximation.n_dropped, 'token')} in none"] if approximation.n_dropped else []
    sizes.append(f"{100 * approximation.unknown_share:.2f} % unknown")
    yield text, ", ".join(sizes)
    yield "Draws", _draws(approximation)
    yield "Settings", f"intervals of {level(approximation.level)}, seed {approximation.seed}"


def _windows(approximation: Approximation) -> str:
    """Return how the text was read, such as "15,561 windows of 7 tokens, each without context"."""
    if approximation.window is None:
        return f"{counted(approximation.n_rows, 'sentence')} with their ends"
    context = approximation.context
    before = f"each after {counted(context, 'token')}" if context else "each without context"
    return f"{counted(approximation.n_rows, 'window')} of {counted(approximation.window, 'token')}, {before}"


def _draws(approximation: Approximation) -> str:
    how = f"{approximation.mode}: {_MODE_WORDS[approximation.mode]}"
    if approximation.mode == "exact":
        return f"{how}."
    share = approximation.zero_share
    never = "No token was" if share == 0 else f"{_percent(share)} of tokens were"
    floor = f"{floor_bits(approximation.floor):.2f} bits (floor {approximation.floor:g})"
    together = f", together {number(approximation.zero_bits, 3)} bits per token" if share else ""
    return f"{how}, N = {count(approximation.n_samples)}. {never} never drawn; one costs {floor}{together}."


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share >= _LEAST_SHARE else f"under {100 * _LEAST_SHARE:g} %"


def _values(approximation: Approximation) -> Table:
    of_text = {
        "approximate": approximation.plain, "corrected": approximation.corrected, "exact": approximation.exact,
    }  # fmt: skip
    differences = {"expected difference": approximation.gap, "second-order bias": approximation.second_order}
    rows: list[list[Cell | str]] = []
    for name, bits in (of_text | differences).items():
        if bits is not None:
            places = places_of(bits.value, bits.interval)
            value = approximation.perplexity(bits).value
            rows.append([
                name, number_cell(bits.value, places), interval_cell(bits.interval, places),
                number_cell(approximation.per_character(bits).value, places),
                number_cell(value, 2 if value < _LARGE else 0) if name in of_text else Cell(),
            ])  # fmt: skip
    heads = ["", _unit(approximation), level(approximation.level), "per character", "perplexity"]
    if approximation.characters_per_token == 1:  # then the unit says so
        heads, rows = [*heads[:3], heads[4]], [[*row[:3], row[4]] for row in rows]
    title = f"Cost under {approximation.generator}, with {level(approximation.level)} intervals"
    return Table.of("cost", heads, rows, title=title, main=True)


def _curve(approximation: Approximation) -> Table:
    corrections = [("corrected", "corrected", numbers(3)), ("jackknife", "jackknife", numbers(3))]
    if approximation.mode == "soft":
        corrections = [("second order", "corrected", numbers(3))]
    return Table.of_items("fewer-draws", approximation.curve, [
        (Column("N"), "n_samples", count_cell),
        ("approximate", "plain", numbers(3)),
        *corrections,
        ("Richardson", "richardson", numbers(3)),
        ("never drawn", lambda point: Cell(_percent(point.zero_share) if point.zero_share else "none",
                                           point.zero_share), as_is),
    ], title="Bits per token by the number of draws")  # fmt: skip


def _bits_figure(approximation: Approximation) -> Figure:
    unit, curve, exact = _unit(approximation), approximation.curve, approximation.exact
    plain, corrected = (
        tuple(Point(point.n_samples, getattr(point, name)) for point in curve) for name in ("plain", "corrected")
    )
    known = exact is not None and approximation.gap is not None
    plot = Curves(
        (Series("approximate", plain, CYCLE[1]), Series("corrected", corrected, CYCLE[2], dashes=1)),
        Axis("draws a position, N", scale="log2", ticks=tuple(float(point.n_samples) for point in curve)),
        Axis(unit),
        references=(Reference(exact.value, "y", "exact", colour="ink", dashed=True),) if exact and known else (),
        size=(4.6, 2.7),
    )
    return Figure("bits-against-draws", plot, f"Cost of the text against the number of draws, {unit}.")


def _rule(approximation: Approximation, rule: RuleCurve) -> Iterator[str]:
    """Yield the sentences on the stopping rule."""
    where = f"alpha {rule.alpha}, {counted(rule.n_rows, 'row')} with {counted(rule.n_positions, 'position')}"
    asks = f"The rule ({where}) requires a change below {rule.gamma:g}"
    if rule.stops_at is None:
        yield f"{asks}, which {count(rule.sizes[-1])} draws do not reach."
    else:
        yield f"{asks}, and stops at N = {count(rule.stops_at)}."
    yield f"It tracks {number(rule.spread, 3)} x {rule.alpha} / N (log-log slope {number(rule.slope, 2)})."
    if rule.errors is not None:
        at = len(rule.sizes) - 1 if rule.stops_at is None else rule.sizes.index(rule.stops_at)
        yield (
            f"The true error is {number(rule.errors[at], 4)} at N = {count(rule.sizes[at])} (slope "
            f"{number(rule.error_slope, 2)}), which the rule does not detect."
        )
    yield (
        f"To bound the error of every share of {count(approximation.n_types)} types by {GAMMA:g} with probability "
        f"{1 - EPSILON:g}, Hoeffding's bound requires N = {count(approximation.bound)}."
    )


def _notes(approximation: Approximation) -> Iterator[str]:
    if approximation.mode == "soft":
        yield "The approximate value is too high on average; the corrected one is right to second order in 1/N."
    elif approximation.mode != "exact":
        yield (
            "On average the truth lies between the corrected value (too low for tokens rarer than 1/N) and the "
            "approximate value (too high)."
        )
    if approximation.gap is not None:
        yield "The expected difference between approximate and exact is over all possible draws."
        yield "The second-order bias is (1 - p) / (2 N p ln 2) bits, right only where no token is rarer than about 1/N."
    elif 0 < approximation.zero_share * approximation.n_tokens < _FEW:
        yield f"Fewer than {_FEW} tokens were never drawn: what they add to the approximate value is chance."
    yield "The intervals are over stretches of the text; the generator is fixed."
    if approximation.window is not None:
        yield "Compare only values of the same window: the first tokens of a short window are hard to predict."
    if approximation.unknown_share > 0:
        yield (
            "Unknown tokens are scored as <unk>: they cost little if the generator learnt <unk>, and the floor if it "
            "never draws it."
        )
