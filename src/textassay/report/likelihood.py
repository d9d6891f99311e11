"""What texts cost under a model, as a document."""

from collections.abc import Mapping
from importlib.metadata import version

from textassay.report.cells import quantity_cells
from textassay.report.document import Cell, Column, Document, Row, Table, notes, section
from textassay.report.number import count
from textassay.report.number import level as percent_of
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
    cells = [
        [cell for one in likelihoods.values() for cell in quantity_cells(getattr(one, attribute))]
        for attribute in _ROWS.values()
    ]
    columns = [Column("", numeric=False)]
    for name in likelihoods:
        group = name if len(likelihoods) > 1 else ""
        columns += [Column("value", group), Column(percent_of(level), group)]
    rows = tuple(Row((Cell(name), *row)) for name, row in zip(_ROWS, cells, strict=True))
    answers = [
        f"{name} has perplexity {values[0].text} {values[1].text}".rstrip() + f" per token under {model}."
        for k, name in enumerate(likelihoods)
        for values in (cells[0][2 * k : 2 * k + 2],)
    ]
    remarks = ["Ends of sentences are counted, as a token and as a character each. The intervals are over sentences."]
    if any(one.unknown_share > 0 for one in likelihoods.values()):
        remarks.append(
            "Unknown tokens cost what <unk> costs, which is too little: no value here compares with that of a model "
            "with another vocabulary."
        )
    if any(one.n_impossible for one in likelihoods.values()):
        remarks.append("A text with a sentence of probability 0 costs infinitely much.")
    title = f"Likelihood of {' and '.join(likelihoods)} under {model}"
    about = f"Cost under {model}, with {percent_of(level)} intervals"
    table = Table("likelihood", tuple(columns), rows, title=about, main=True)
    return Document(
        title,
        tuple(answers),
        tuple((name, _sizes(one, tokenizer)) for name, one in likelihoods.items()),
        (section("Cost of the text", table, *notes(*remarks)),),
        version=version("textassay"),
    )


def _sizes(likelihood: TextLikelihood, tokenizer: str) -> str:
    tokens = f"{count(likelihood.n_tokens)} tokens" + (f" ({tokenizer})" if tokenizer else "")
    sizes = [f"{count(likelihood.n_sentences)} sentences", tokens, f"{count(likelihood.n_characters)} characters"]
    if likelihood.n_tokens:
        sizes.append(f"{100 * likelihood.unknown_share:.2f} % of tokens unknown")
    if likelihood.n_impossible:
        sizes.append(f"{count(likelihood.n_impossible)} sentences of probability 0")
    return ", ".join(sizes)
