"""How often a discriminative evaluator is right about the texts of each generator, as a document."""

from importlib.metadata import version

from textassay.report.cells import count_cell, interval_cell, number_cell
from textassay.report.document import Cell, Column, Document, Figure, Row, Table, notes, section
from textassay.report.files import record
from textassay.report.number import count, counted, interval, level
from textassay.report.plots import Axis, Forest, ForestRow, Mark, Reference
from textassay_lab.judges.meta_evaluator import Accuracy, MetaEvaluation

_KINDS = {
    "meta": "one classifier, which learns from the texts of all generators",
    "individual": "a classifier for each generator",
}
_PLACES = 3
_RECORD = ("generator", "accuracy", "low", "high", "n_texts", "n_distinct")


def meta_evaluation_document(evaluation: MetaEvaluation) -> Document:
    """Return how often an evaluator is right about each generator's texts, real ones and all; the best first."""
    generators = dict(sorted(evaluation.by_generator.items(), key=lambda item: item[1].value))
    together = {"(generated)": evaluation.generated, "(real)": evaluation.real, "(all)": evaluation.all}
    sizes = sorted({one.n_texts for one in generators.values()})
    each = " each" if len(generators) > 1 else ""
    texts = " to ".join(map(count, dict.fromkeys((sizes[0], sizes[-1]))))
    return Document(
        f"Generators judged by {evaluation.name}",
        tuple(_answer(evaluation, generators)),
        (
            ("Evaluator", f"{evaluation.name}: {_KINDS[evaluation.kind]}"),
            ("Texts", f"{count(evaluation.real.n_texts)} real; {counted(len(generators), 'generator')}, {texts}{each}"),
            ("Fitting", f"{evaluation.seconds:.1f} seconds"),
            ("Signature", str(evaluation.signature)),
        ),
        (section("How often it is right", _table(generators, together, evaluation), *notes(*_notes(evaluation)),
                 _figure(generators, together, evaluation)),),
        lead="accuracy",
        version=version("textassay"),
        records=(record("accuracy", _RECORD, ([name, one.value, one.interval.low, one.interval.high, one.n_texts,
                                               one.n_distinct] for name, one in (generators | together).items())),),
    )  # fmt: skip


def _answer(evaluation: MetaEvaluation, generators: dict[str, Accuracy]) -> list[str]:
    best, *others = generators
    sentence = f"{evaluation.name} recognises {_share(generators[best])} of the texts of {best} as generated"
    if others:
        worst = others[-1]
        sentence += f", the fewest, and {_share(generators[worst])} of those of {worst}, the most"
    return [f"{sentence}.", f"It recognises {_share(evaluation.real)} of the real texts as real."]


def _share(accuracy: Accuracy) -> str:
    """Return an accuracy with its interval, such as "0.946 [0.914, 0.967]"."""
    return f"{number_cell(accuracy.value, _PLACES).text} {interval(accuracy.interval, _PLACES)}"


def _table(generators: dict[str, Accuracy], together: dict[str, Accuracy], evaluation: MetaEvaluation) -> Table:
    is_seen = any(evaluation.n_seen.values())
    columns = (
        Column("generator", numeric=False),
        Column("accuracy", better="lower", note="share of its texts that are called generated"),
        Column(f"{level(evaluation.level)} interval"),
        Column("texts"),
        Column("different", note="texts that differ from one another"),
        *([Column("seen", note="texts that stand in the training or validation text")] if is_seen else []),
    )
    rows = []
    for name, one in (generators | together).items():
        sizes = [one.n_texts, one.n_distinct, *([evaluation.n_seen.get(name)] if is_seen else [])]
        cells = (number_cell(one.value, _PLACES), interval_cell(one.interval, _PLACES), *map(count_cell, sizes))
        rows.append(Row((Cell(name), *cells), "reference" if name in together else ""))
    return Table("accuracy", columns, tuple(rows), main=True)


def _notes(evaluation: MetaEvaluation) -> list[str]:
    folds = " and for classifiers of several folds" if evaluation.inflation > 1 else ""
    return [
        "Of a generator: the share of its texts that are called generated, the lower, the better the generator; "
        "(generated): of all of them; (real): the share of real texts that are called real; (all): the mean of both.",
        f"{_fresh(evaluation)} Intervals allow for equal texts{folds}.",
    ]


def _fresh(evaluation: MetaEvaluation) -> str:
    seen = sum(evaluation.n_seen.values())
    if seen:
        return f"{counted(seen, 'generated text')} of the test part, or equal ones, were seen in training: column seen."
    return "No text was judged by a classifier that saw it or an equal text."


def _figure(generators: dict[str, Accuracy], together: dict[str, Accuracy], evaluation: MetaEvaluation) -> Figure:
    rows = []
    for name, one in (generators | {"(real)": together["(real)"]}).items():
        colour = "real" if name in together else "generated"
        mark = Mark(one.value, one.interval.low, one.interval.high, colour=colour)  # type: ignore[arg-type]
        rows.append(ForestRow(name, (mark,), number_cell(one.value, _PLACES).text, reference=name in together))
    values = ", ".join(f"{row.name} {row.text}" for row in rows)
    lowest = min(0.5, *(one.interval.low for one in (*generators.values(), together["(real)"])))
    axis = Axis("share of texts that are recognised", (lowest - 0.02, None))
    plot = Forest(tuple(rows), axis, references=(Reference(0.5, dashed=True),))
    caption = f"How often {evaluation.name} is right, with {level(evaluation.level)} intervals; dashed: guessing."
    return Figure("accuracy", plot, caption, f"How often {evaluation.name} is right about texts of each: {values}.")
