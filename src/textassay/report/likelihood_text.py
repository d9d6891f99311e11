"""What texts cost under a model, for a terminal."""

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from textassay.generator import Quantity, TextLikelihood
from textassay.report.console import heading, print_table, safe
from textassay.report.number import count, decimals, interval, level, number


def render_likelihood(
    model: str, tokenizer: str, found: Mapping[str, TextLikelihood], console: Console, *, level: float
) -> None:
    """Print what each text costs under `model`, in the width of `console`."""
    for name, likelihood in found.items():
        heading(console, f"{name} under {model}")
        _print_sizes(likelihood, tokenizer, console)
        _print_values(likelihood, console, share=level)
    notes = ["Ends of sentences are counted, as a token and as a character each. The intervals are over sentences."]
    if any(likelihood.unknown_share > 0 for likelihood in found.values()):
        notes.append(
            "Unknown tokens cost what <unk> costs, which is too little: no value here compares with that of a model "
            "with another vocabulary."
        )
    if any(likelihood.n_impossible for likelihood in found.values()):
        notes.append("A text with a sentence of probability 0 costs infinitely much.")
    console.print()
    for note in notes:
        console.print(Padding(safe(console, note, "dim"), (0, 0, 0, 2), expand=False))


def _print_sizes(likelihood: TextLikelihood, tokenizer: str, console: Console) -> None:
    sizes = [f"{count(likelihood.n_sentences)} sentences", f"{count(likelihood.n_tokens)} tokens ({tokenizer})"]
    sizes.append(f"{count(likelihood.n_characters)} characters")
    if likelihood.n_tokens:
        sizes.append(f"{100 * likelihood.unknown_share:.2f} % of tokens unknown")
    if likelihood.n_impossible:
        sizes.append(f"{count(likelihood.n_impossible)} sentences of probability 0")
    console.print(Padding(safe(console, ", ".join(sizes)), (0, 0, 0, 2), expand=False))


def _print_values(likelihood: TextLikelihood, console: Console, *, share: float) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    for header in ("value", level(share)):
        table.add_column(header, justify="right", no_wrap=True)
    rows: dict[str, Quantity] = {
        "perplexity, per token": likelihood.perplexity,
        "nats per token": likelihood.nll_per_token,
        "bits per token": likelihood.bits_per_token,
        "bits per character": likelihood.bits_per_character,
        "nats per sentence": likelihood.nll_per_sentence,
    }
    for name, found in rows.items():
        arm = None if found.interval is None else (found.interval.high - found.interval.low) / 2
        places = decimals(found.value, arm)
        table.add_row(name, number(found.value, places), interval(found.interval, places))
    print_table(console, table)
