"""What a text costs under the average output of a generator, for a terminal."""

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from textassay.approximation import EPSILON, GAMMA, Approximation, floor_bits
from textassay.generator import Quantity
from textassay.report.console import heading, print_table, safe
from textassay.report.number import MISSING, count, counted, decimals, interval, level, number

MODE_WORDS = {
    "multinomial": "counts of draws from the softmax",
    "onehot": "one-hot average of its own draws",
    "soft": "average of its distributions, a noise vector each",
    "exact": "the softmax, nothing drawn",
}
_FEW = 10
_LEAST_SHARE = 1e-4  # of tokens; a smaller one is told as such


def render_approximation(found: Approximation, console: Console, *, text: str, tokenizer: str) -> None:
    """Print what `text` costs under a generator, in the width of `console`."""
    heading(console, f"{text} under {found.generator}")
    sizes = [window_words(found), f"{counted(found.n_tokens, 'token')} ({tokenizer})"]
    sizes += [f"{counted(found.n_dropped, 'token')} in none"] if found.n_dropped else []
    sizes.append(f"{100 * found.unknown_share:.2f} % unknown")
    _say(console, ", ".join(sizes) + ".")
    _say(console, _drawn(found))
    console.print()
    print_table(console, _values(found))
    if len(found.curve) > 1:
        heading(console, "With fewer draws, in bits per token")
        print_table(console, _curve(found))
    if found.rule is not None:
        heading(console, "How many draws are enough")
        _say(console, " ".join(_rule(found)))
    console.print()
    for note in _notes(found):
        _say(console, note, style="dim")


def window_words(found: Approximation) -> str:
    """Return how the text was read, such as "15,561 windows of 7 tokens, each without context"."""
    if found.window is None:
        return f"{counted(found.n_rows, 'sentence')} with their ends"
    before = f"each after {counted(found.context, 'token')}" if found.context else "each without context"
    return f"{counted(found.n_rows, 'window')} of {counted(found.window, 'token')}, {before}"


def _drawn(found: Approximation) -> str:
    how = f"{found.mode}: {MODE_WORDS[found.mode]}"
    if found.mode == "exact":
        return f"{how}."
    share = "No token was" if found.zero_share == 0 else f"{_percent(found.zero_share)} of tokens were"
    told = f"{how}, N = {count(found.n_samples)}. {share} never drawn; one costs {floor_bits(found.floor):.2f} bits "
    told += f"(floor {found.floor:g})"
    return told + (f", together {number(found.zero_bits, 3)} bits per token." if found.zero_share else ".")


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share >= _LEAST_SHARE else f"under {100 * _LEAST_SHARE:g} %"


def _values(found: Approximation) -> Table:
    characters = found.characters_per_token == 1
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    headers = ["bits per character" if characters else "bits per token", level(found.level)]
    headers += [] if characters else ["per character"]
    for header in (*headers, "perplexity"):
        table.add_column(header, justify="right", no_wrap=True)
    rows = {
        "approximate": found.plain,
        "corrected": found.corrected,
        "exact": found.exact,
        "expected difference": found.gap,
    }
    for name, bits in rows.items():
        if bits is None:
            continue
        places = _places(bits)
        cells = [number(bits.value, places), interval(bits.interval, places)]
        cells += [] if characters else [number(found.per_character(bits).value, places)]
        shown = "" if bits is found.gap else number(found.perplexity(bits).value, 2)
        table.add_row(name, *cells, shown)
    return table


def _places(bits: Quantity) -> int:
    arm = None if bits.interval is None else (bits.interval.high - bits.interval.low) / 2
    return decimals(bits.value, arm)


def _curve(found: Approximation) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    second = ("second order",) if found.mode == "soft" else ("corrected", "jackknife")
    for header in ("N", "approximate", *second, "Richardson", "never drawn"):
        table.add_column(header, justify="right", no_wrap=True)
    for point in found.curve:
        values = [point.plain, point.corrected, *([] if found.mode == "soft" else [point.jackknife]), point.richardson]
        cells = [MISSING if value is None else number(value, 3) for value in values]
        table.add_row(count(point.n_samples), *cells, _percent(point.zero_share) if point.zero_share else "none")
    return table


def _rule(found: Approximation) -> list[str]:
    """Return the sentences on the stopping rule."""
    rule = found.rule
    assert rule is not None
    where = f"alpha {rule.alpha}, {counted(rule.n_rows, 'row')} with {counted(rule.n_positions, 'position')}"
    asked = f"The rule ({where}) asks for a change below {rule.gamma:g}"
    if rule.stops_at is None:
        told = [f"{asked}, which {count(rule.sizes[-1])} draws do not reach."]
    else:
        told = [f"{asked}, and stops at N = {count(rule.stops_at)}."]
    told.append(f"It tracks {number(rule.spread, 3)} x {rule.alpha} / N (log-log slope {number(rule.slope, 2)}).")
    if rule.errors is not None:
        at = len(rule.sizes) - 1 if rule.stops_at is None else rule.sizes.index(rule.stops_at)
        told.append(
            f"The true error is {number(rule.errors[at], 4)} at N = {count(rule.sizes[at])} "
            f"(slope {number(rule.error_slope, 2)}), which the rule does not see."
        )
    told.append(
        f"So that no share of {count(found.n_types)} types is off by {GAMMA:g} with probability {1 - EPSILON:g}, "
        f"Hoeffding's bound asks for N = {count(found.bound)}."
    )
    return told


def _notes(found: Approximation) -> list[str]:
    notes = []
    if found.mode == "soft":
        notes.append("The approximate value is too high on average; the corrected one is right to second order in 1/N.")
    elif found.mode != "exact":
        notes.append(
            "On average the truth lies between the corrected value, too low where tokens are rarer than 1/N, and the "
            "approximate one, too high everywhere."
        )
    if found.gap is not None:
        notes.append("The expected difference is that of approximate and exact over all draws there could have been.")
    elif 0 < found.zero_share * found.n_tokens < _FEW:
        notes.append(f"Fewer than {_FEW} tokens were never drawn: what they add to the approximate value is chance.")
    notes.append("The intervals are over stretches of the text; the generator is fixed.")
    if found.window is not None:
        notes.append("Compare only with values of the same window: the first tokens of a short one are hard to guess.")
    if found.unknown_share > 0:
        notes.append(
            "Unknown tokens are scored as <unk>: they cost little where the generator learnt <unk>, the floor where it "
            "never draws it."
        )
    return notes


def _say(console: Console, text: str, *, style: str = "") -> None:
    console.print(Padding(safe(console, text, style), (0, 0, 0, 2), expand=False))
