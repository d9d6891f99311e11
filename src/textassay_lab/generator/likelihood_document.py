"""What texts cost under a model, as a document."""

from collections.abc import Mapping

from textassay.report.document import Document, notes, section
from textassay.report.table import Column, Row, Table, quantity_cells, text_cell
from textassay.report.text import count
from textassay.report.text import level as percent_of
from textassay_lab.generator.text_likelihood import TextLikelihood

_ROWS = {
    "perplexity, per token": "perplexity",
    "nats per token": "nll_per_token",
    "bits per token": "bits_per_token",
    "bits per character": "bits_per_character",
    "nats per sentence": "nll_per_sentence",
}


def likelihood_document(
    likelihoods: Mapping[str, TextLikelihood] | TextLikelihood,
    *,
    model: str = "the model",
    tokenizer: str = "",
    level: float = 0.95,
) -> Document:
    """Return what each text costs under `model`; names are those of the texts."""
    if isinstance(likelihoods, TextLikelihood):
        likelihoods = {"the text": likelihoods}
    columns = [Column("", numeric=False)]
    for name in likelihoods:
        group = name if len(likelihoods) > 1 else ""
        columns += [Column("value", group), Column(percent_of(level), group)]
    rows = []
    for name, attribute in _ROWS.items():
        quantities = [getattr(one, attribute) for one in likelihoods.values()]
        rows.append(
            Row((text_cell(name), *(cell for one in quantities for cell in quantity_cells(one.value, one.interval))))
        )
    answers = []
    for name, one in likelihoods.items():
        value, bounds = quantity_cells(one.perplexity.value, one.perplexity.interval)
        answers.append(f"{name} has perplexity {value.text} {bounds.text}".rstrip() + f" per token under {model}.")
    table = Table(
        "likelihood", tuple(columns), tuple(rows), f"Cost under {model}, with {percent_of(level)} intervals", main=True
    )
    is_unknown = any(one.unknown_share > 0 for one in likelihoods.values())
    remarks = notes(
        "Ends of sentences are counted, as a token and as a character each. The intervals are over sentences.",
        "Unknown tokens cost what <unk> costs, which is too little: no value here compares with that of a model "
        "with another vocabulary." if is_unknown else "",
        "A text with a sentence of probability 0 costs infinitely much."
        if any(one.n_impossible for one in likelihoods.values()) else "",
    )  # fmt: skip
    return Document(
        f"Likelihood of {' and '.join(likelihoods)} under {model}",
        tuple(answers),
        tuple((name, _sizes(one, tokenizer)) for name, one in likelihoods.items()),
        (section("Cost of the text", table, *remarks),),
    )


def _sizes(likelihood: TextLikelihood, tokenizer: str) -> str:
    tokens = f"{count(likelihood.n_tokens)} tokens" + (f" ({tokenizer})" if tokenizer else "")
    sizes = [f"{count(likelihood.n_sentences)} sentences", tokens, f"{count(likelihood.n_characters)} characters"]
    if likelihood.n_tokens:
        sizes.append(f"{100 * likelihood.unknown_share:.2f} % of tokens unknown")
    if likelihood.n_impossible:
        sizes.append(f"{count(likelihood.n_impossible)} sentences of probability 0")
    return ", ".join(sizes)
