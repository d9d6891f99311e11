"""Metrics by kind, in the order in which a reader wants them: by classifier, overlap, variety, likelihood, vectors.

The only place of the reports that knows metrics by name; one that it does not know stands under "Other metrics".
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textassay.embedding.store import DEFAULT_ENCODER
from textassay.metric.catalog import GROUPS
from textassay.report.text import slug

KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Told apart by a classifier", ("conditional-dd", "dd")),
    ("Overlap with real text", ("bleu", "bleu-nearest", "rouge", "meteor", "cider", "cider-d")),
    ("Variety", ("self-bleu", "distinct-n", "compression-ratio", "zipf", "text-entropy")),
    ("Length and vocabulary", ("length", "vocabulary")),
    ("Likelihood", ("lm-score", "reverse-lm-score")),
    ("Distance of sentence vectors", ("fed", "mmd", "mauve")),
    ("Neighbours of sentence vectors", ("precision", "recall", "density", "coverage")),
    ("Memorisation", ("memorization", "bleu-train")),
    ("People's judgement", ("huse",)),
    ("Detectors of machine text", GROUPS["detectors"]),
)
_OTHER = "Other metrics"
MAIN_METRICS = 5  # on one screen
# Of which kinds the main table takes a metric, first to last.
_MAIN_KINDS = (
    "Told apart by a classifier",
    "People's judgement",
    "Detectors of machine text",
    "Overlap with real text",
    "Variety",
    "Distance of sentence vectors",
    "Likelihood",
    "Length and vocabulary",
    "Neighbours of sentence vectors",
    "Memorisation",
    _OTHER,
)
_MOST_COLUMNS = 6
_METRIC = re.compile(r"(?P<family>[^([]*)(?:\((?P<variant>.*)\))?(?:\[(?P<encoder>.*)\])?$", re.DOTALL)
_OF_VECTORS = {family for kind, families in KINDS if "sentence vectors" in kind for family in families}


@dataclass(frozen=True)
class Kind:
    """Metrics of one kind: `tables` are those that stand beside each other, families together."""

    name: str
    tables: tuple[tuple[str, ...], ...]


def group_by_kind(metrics: Iterable[str]) -> tuple[Kind, ...]:
    """Return `metrics`, each once, by kind and family, in tables of at most six columns where families allow it."""
    places = {family: place for place, (_, families) in enumerate(KINDS) for family in families}
    order = {family: place for _, families in KINDS for place, family in enumerate(families)}
    groups: dict[int, dict[str, list[str]]] = {}
    for metric in dict.fromkeys(metrics):
        family = family_of(metric)
        groups.setdefault(places.get(family, len(KINDS)), {}).setdefault(family, []).append(metric)
    kinds = []
    for place, families in sorted(groups.items()):
        name = KINDS[place][0] if place < len(KINDS) else _OTHER
        members = sorted(families, key=lambda family: order.get(family, 0))
        kinds.append(Kind(name, _tables([families[family] for family in members])))
    return tuple(kinds)


def main_metrics(metrics: Sequence[str], headline: str) -> tuple[str, ...]:
    """Return the metrics of the main table: the headline, then one of each kind until there are five.

    Of a kind, its first family; of a family, its last variant (the highest order). Where kinds run out, further
    families follow, as they are listed.
    """
    others = [metric for metric in metrics if family_of(metric) != family_of(headline)]
    last = {family_of(metric): metric for metric in others}
    first: dict[str, str] = {}
    for kind in group_by_kind(last.values()):
        first[kind.name] = kind.tables[0][0]
    chosen = [first[kind] for kind in _MAIN_KINDS if kind in first]
    rest = [metric for metric in last.values() if metric not in chosen]
    return (headline, *chosen, *rest)[:MAIN_METRICS]


def family_of(metric: str) -> str:
    """Return the name before the bracket: "bleu" of "bleu(order=4)"."""
    found = _METRIC.match(metric)
    return metric if found is None else found["family"]


def variant_of(metric: str) -> str:
    """Return what stands in the bracket: "order=4" of "bleu(order=4)"; empty where there is none."""
    found = _METRIC.match(metric)
    return "" if found is None else found["variant"] or ""


def with_encoder(metric: str, encoder: str = DEFAULT_ENCODER) -> str:
    """Return a metric with the encoder of its sentence vectors, ``mauve[lsa+lm]``; as it is where it has none.

    `encoder`: the one of metrics whose names do not say any.
    """
    family, settings = family_of(metric), variant_of(metric).split(",")
    if family not in _OF_VECTORS or metric.endswith("]"):
        return metric
    own = [setting.removeprefix("encoder=") for setting in settings if setting.startswith("encoder=")]
    others = ",".join(setting for setting in settings if not setting.startswith("encoder="))
    return f"{family}({others})[{own[0] if own else encoder}]".replace("()", "")


def metric_slug(metric: str) -> str:
    """Return a metric's name for files and ids, without the default encoder."""
    return slug(metric.removesuffix(f"[{DEFAULT_ENCODER}]"))


def _tables(families: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    tables: list[list[str]] = []
    for family in families:
        if not tables or len(tables[-1]) + len(family) > _MOST_COLUMNS:
            tables.append([])
        tables[-1] += family
    return tuple(map(tuple, tables))
