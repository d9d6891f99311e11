"""How often a discriminative evaluator is right about the texts of each generator, as a document."""

from textassay.report.document import Document, Figure, notes, section
from textassay.report.plots import Axis, Forest, ForestRow, Mark, Reference
from textassay.report.table import Column, Table, count_cell, intervals, number_cell, numbers, record, text_cell
from textassay.report.text import count, counted, interval, level
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
    everyone = generators | together
    sizes = sorted({one.n_texts for one in generators.values()})
    each = " each" if len(generators) > 1 else ""
    texts = " to ".join(map(count, dict.fromkeys((sizes[0], sizes[-1]))))
    seen = sum(evaluation.n_seen.values())
    table = Table.of_items("accuracy", everyone, [
        ("generator", str, text_cell),
        (Column("accuracy", better="lower", note="share of its texts that are called generated"),
         lambda name: everyone[name].value, numbers(_PLACES)),
        (f"{level(evaluation.level)} interval", lambda name: everyone[name].interval, intervals(_PLACES)),
        ("texts", lambda name: everyone[name].n_texts, count_cell),
        (Column("different", note="distinct texts"),
         lambda name: everyone[name].n_distinct, count_cell),
        *([(Column("seen", note="texts that occur in the training or validation text"), evaluation.n_seen.get,
            count_cell)] if seen else []),
    ], is_reference=together.__contains__, main=True)  # fmt: skip
    is_fresh = "No text was judged by a classifier that saw it or an equal text."
    if seen:
        is_fresh = f"{counted(seen, 'generated text')} of the test part, or equal ones, were seen in training."
    folds = " and for classifiers of several folds" if evaluation.inflation > 1 else ""
    remarks = notes(
        "Per generator: the share of its texts that are called generated; lower is better. (generated): the same for "
        "all generators; (real): the share of real texts that are called real; (all): the mean of both.",
        f"{is_fresh} Intervals allow for equal texts{folds}.",
    )
    return Document(
        f"Generators judged by {evaluation.name}",
        _answer(evaluation, generators),
        (
            ("Evaluator", f"{evaluation.name}: {_KINDS[evaluation.kind]}"),
            ("Texts", f"{count(evaluation.real.n_texts)} real; {counted(len(generators), 'generator')}, {texts}{each}"),
            ("Fitting", f"{evaluation.seconds:.1f} seconds"),
            ("Signature", str(evaluation.signature)),
        ),
        (section("Accuracy", table, *remarks, _figure(generators, evaluation)),),
        lead="accuracy",
        records=(
            record("accuracy", _RECORD, ([name, one.value, one.interval.low, one.interval.high, one.n_texts,
                                          one.n_distinct] for name, one in everyone.items())),
        ),
    )  # fmt: skip


def _answer(evaluation: MetaEvaluation, generators: dict[str, Accuracy]) -> tuple[str, str]:
    best, *others = generators
    worst = f", the fewest, and {_share(generators[others[-1]])} of those of {others[-1]}, the most" if others else ""
    return (
        f"{evaluation.name} recognises {_share(generators[best])} of the texts of {best} as generated{worst}.",
        f"It recognises {_share(evaluation.real)} of the real texts as real.",
    )


def _share(accuracy: Accuracy) -> str:
    """Return an accuracy with its interval, such as "0.946 [0.914, 0.967]"."""
    return f"{number_cell(accuracy.value, _PLACES).text} {interval(accuracy.interval, _PLACES)}"


def _figure(generators: dict[str, Accuracy], evaluation: MetaEvaluation) -> Figure:
    rows = []
    for name, one in (*generators.items(), ("(real)", evaluation.real)):
        is_real = one is evaluation.real
        mark = Mark(one.value, one.interval.low, one.interval.high, colour="real" if is_real else "generated")
        rows.append(ForestRow(name, (mark,), number_cell(one.value, _PLACES).text, reference=is_real))
    lowest = min([0.5, evaluation.real.interval.low, *(one.interval.low for one in generators.values())])
    plot = Forest(
        tuple(rows),
        Axis("share of texts that are recognised", (lowest - 0.02, None)),
        references=(Reference(0.5, dashed=True),),
    )
    caption = f"How often {evaluation.name} is right, with {level(evaluation.level)} intervals; dashed: guessing."
    return Figure("accuracy", plot, caption)
