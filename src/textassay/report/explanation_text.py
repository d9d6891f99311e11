"""What gives a generator away, for a terminal: tables of n-grams, bars by length and position, sentences, the curve.

Texts are shown as they are, with nothing that could steer a terminal; bars fall back to ASCII where need be.
"""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from textassay.comparison import FLAT, DiscriminativeNgram, Example, Explanation
from textassay.report.console import heading, print_table, safe
from textassay.report.digest import excerpt, printable
from textassay.report.number import MISSING, count, level, number, p_value, span

_PLACES = 3
_BAR_WIDTH = 16
_ENDS = ("<sos>", "<eos>")
_SCORE_WIDTH = 10


def render_explanation(explanation: Explanation, console: Console, *, top: int = 10) -> None:
    """Print one explanation on `console`, in its width."""
    _Printer(explanation, console).print_all(top)


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


class _Printer:
    """One explanation on its way to one console."""

    def __init__(self, explanation: Explanation, console: Console) -> None:
        self._explanation = explanation
        self._console = console

    def print_all(self, top: int) -> None:
        found = self._explanation
        heading(self._console, f"What gives {found.generator} away: dd {number(found.value, _PLACES)}")
        if found.boilerplate and top:
            self._giveaways("Phrases in many generated texts", found.boilerplate[:top], found.boilerplate)
        self._giveaways("More often in generated text", found.more_generated[:top], found.more_generated)
        self._giveaways("More often in real text", found.more_real[:top], found.more_real)
        self._tests(top)
        self._lengths()
        self._prefixes()
        self._positions()
        self._sentences("Most clearly generated", found.most_generated, "generated texts", found.overused)
        self._sentences("Most lifelike", found.most_lifelike, "generated texts", found.more_real)
        self._sentences("Real, mistaken for generated", found.mistaken, "real texts", found.overused)
        self._curve()
        for note in found.notes:
            self._say(note)

    def _giveaways(
        self, title: str, shown: Sequence[DiscriminativeNgram], found: Sequence[DiscriminativeNgram]
    ) -> None:
        self._title(title)
        if not found:
            self._say("No n-gram is significantly so.")
        if not shown:
            return
        table = self._table("n-gram", "in generated", "", "in real", "", "p adjusted")
        for giveaway in shown:
            table.add_row(
                safe(self._console, giveaway.ngram, "bold"),
                count(giveaway.n_generated),
                _percent(giveaway.share_generated),
                count(giveaway.n_real),
                _percent(giveaway.share_real),
                p_value(giveaway.p_adjusted),
            )
        self._print(table)

    def _tests(self, top: int) -> None:
        found = self._explanation
        shown = (*found.more_generated[:top], *found.more_real[:top])
        rate = level(1 - found.level)
        text = (
            f"Texts that contain the n-gram, and their share. {count(found.n_tested)} n-grams were tested; p is "
            f"adjusted for that, {rate} false discoveries are expected among all below {1 - found.level:.3g}. "
            "An n-gram that adds nothing to those above it is left out."
        )
        if any(end in giveaway.ngram.split(" ") for giveaway in shown for end in _ENDS):
            text += " <sos> and <eos> are the beginning and the end of a text."
        self._say(text)

    def _lengths(self) -> None:
        bins = self._explanation.lengths
        if not bins:
            return
        self._title("dd by length")
        table = self._table("tokens", "generated", "real", "dd", level(self._explanation.level), plain=1)
        for part in bins:
            tokens = f"{part.shortest}" if part.shortest == part.longest else f"{part.shortest}-{part.longest}"
            table.add_row(
                tokens,
                count(part.n_generated),
                count(part.n_real),
                number(part.value, _PLACES) if part.value is not None else f"{MISSING} (too few)",
                span(part.low, part.high, _PLACES),
                self._bar(part.value, 1.0),
            )
        self._print(table)
        half = self._explanation.half_bin
        if half is not None:
            self._say(f"The shortest texts among which dd is one half or more have {_tokens(half.shortest)} or more.")

    def _prefixes(self) -> None:
        points = self._explanation.prefixes
        if not points:
            return
        self._title("dd of the first tokens, by logistic regression over n-grams")
        table = self._table("tokens", "dd", level(self._explanation.level), plain=1)
        for point in points:
            table.add_row(
                count(point.n_tokens),
                number(point.value, _PLACES),
                span(point.low, point.high, _PLACES),
                self._bar(point.value, 1.0),
            )
        self._print(table)
        self._console.print(
            Padding(safe(self._console, prefix_statement(self._explanation)), (0, 0, 0, 2), expand=False)
        )

    def _positions(self) -> None:
        bins = self._explanation.positions
        if not bins:
            return
        self._title("Where in the text: evidence in favour of real, nats per text")
        table = self._table("part", "in real", "in generated", "difference", plain=1)
        gaps = [part.evidence_real - part.evidence_generated for part in bins]
        for part, gap in zip(bins, gaps, strict=True):
            table.add_row(
                f"{100 * part.begin:.0f}-{100 * part.end:.0f} %",
                number(part.evidence_real, 2, sign=True),
                number(part.evidence_generated, 2, sign=True),
                number(gap, 2, sign=True),
                self._bar(gap, max(gaps)),
            )
        self._print(table)

    def _sentences(
        self, title: str, examples: Sequence[Example], kind: str, evidence: Sequence[DiscriminativeNgram]
    ) -> None:
        self._title(f"{title} (probability of being real)")
        if not examples:
            self._say(f"No {kind}.")
            return
        width = max(20, self._console.width - _SCORE_WIDTH)
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(no_wrap=True)
        for example in examples:
            text = excerpt(printable(example.text), width, evidence) or "(empty)"
            grid.add_row(Text(_probability(example.score), "dim"), safe(self._console, text))
        self._print(grid)

    def _curve(self) -> None:
        self._title("dd with more text")
        table = self._table("generated", "real", "dd", level(self._explanation.level), plain=1)
        for point in self._explanation.curve:
            table.add_row(
                count(point.n_generated),
                count(point.n_real),
                number(point.value, _PLACES),
                span(point.low, point.high, _PLACES),
                self._bar(point.value, 1.0),
            )
        self._print(table)
        self._console.print(
            Padding(safe(self._console, curve_statement(self._explanation)), (0, 0, 0, 2), expand=False)
        )

    def _bar(self, value: float | None, full: float) -> str:
        """Return a bar as long as `value` is of `full`; none for what is not above 0."""
        if value is None or value <= 0 or full <= 0:
            return ""
        return ("#" if self._console.options.ascii_only else "█") * round(_BAR_WIDTH * value / full)

    def _table(self, first: str, *headers: str, plain: int = 0) -> Table:
        """Return a table whose first column may be wrapped, and `plain` columns without a header at its end."""
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
        table.add_column(first, overflow="fold")
        for header in headers:
            table.add_column(header, justify="right", no_wrap=True)
        for _ in range(plain):
            table.add_column("", no_wrap=True)
        return table

    def _title(self, text: str) -> None:
        self._console.print()
        self._console.print(safe(self._console, text, "bold"))

    def _print(self, table: Table) -> None:
        print_table(self._console, table)

    def _say(self, text: str) -> None:
        self._console.print(Padding(safe(self._console, text, "dim"), (0, 0, 0, 2), expand=False))


def _tokens(n: int) -> str:
    return "1 token" if n == 1 else f"{count(n)} tokens"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else "<0.1 %"


def _probability(score: float) -> str:
    """Return a probability of which neither end is shown as certain."""
    return "<0.001" if score < 0.001 else ">0.999" if score > 0.999 else f"{score:.3f}"
