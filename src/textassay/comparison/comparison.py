"""The comparison: every metric for every generator, pairs, ranks, findings, explanations, and what was drawn for it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from textassay.comparison.explanation import Explanation
from textassay.corpus.corpus import Corpus
from textassay.display import Displayed, columns_from
from textassay.estimate import Better, Estimate
from textassay.inspection.finding import REAL, Finding

if TYPE_CHECKING:
    from textassay.comparison.standings import Standings
    from textassay.comparison.verdicts import Verdict

_MOST_NAMED = 4  # names in the short form of a comparison
FLOOR = REAL  # the row of the real text itself
FIT_REAL = "(fit-real)"  # no row: more real text
TRAIN = "(train)"  # the row of the text that the generators were trained on
_COLUMNS = (
    "generator",
    "metric",
    "value",
    "low",
    "high",
    "unit",
    "better",
    "matched_value",  # at the size of the (real) row
    "floor_value",  # what real text scores there
    "ranked_by",  # which of the values decides
    "shown_by",  # which of them tables show beside the floor
    "error",
    "signature",
)


@dataclass(frozen=True)
class Draw:
    """What was drawn from one generator.

    `log_probs`: whether its own log-probabilities were used; `no_log_probs`: else why not. `note`: what the answers of
    an endpoint took, or that a command printed fewer texts than were asked for.
    """

    generator: str
    source: str | None  # as it was named, such as ``models/lstm``; None for an object of Python
    model: str
    seed: int  # of the first block
    n: int
    seconds: float  # of drawing
    file: str | None  # in the folder of results
    log_probs: bool = False
    no_log_probs: str | None = None
    note: str | None = None

    @property
    def is_answers(self) -> bool:
        """Whether the texts are answers of an endpoint."""
        return self.model.startswith("openai(")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Draw":
        return cls(**data)


@dataclass(frozen=True)
class RealText:
    """The real text of a comparison: where it came from, its size and content hash."""

    name: str
    n_sentences: int
    fingerprint: str
    texts: str | None = None  # The same hash without groups, where there are some

    @classmethod
    def of(cls, corpus: Corpus, name: str) -> Self:
        """Return what is kept of a real text."""
        texts = None if corpus.groups is None else corpus.texts_fingerprint
        return cls(name, len(corpus), corpus.fingerprint, texts)

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Result:
    """One metric for one generator; reference rows are ``(real)``, ``(real-heldout)``, ``(train)``."""

    # Whose text, and the metric's canonical name
    generator: str
    metric: str
    better: Better  # The metric's direction
    estimate: Estimate | None  # On all text; none where it could not be computed
    # The same metric at the floor's sample size, or with all sentences of a generator that has fewer, and against the
    # floor's half of the real text; none for the ``(real)`` row and where it could not be computed
    matched: Estimate | None = None
    # What real text scores at the size of `matched`: the ``(real)`` row's estimate, or that of fewer sentences
    floor: Estimate | None = None
    error: str | None = None  # Why there is no estimate, or why its value is undefined
    size_sensitive: bool = True  # Whether the metric's expected value changes with the number of texts

    @property
    def shown_by(self) -> Literal["value", "matched_value"]:
        """Which value tables show beside the floor: that of all texts only where its size makes no difference there.

        It makes none to a metric that is not sensitive to it, and to one that tests itself against guessing, such as
        dd: of two samples of one text it is 0 on average whatever their size.
        """
        is_tested = self.estimate is not None and self.estimate.details.get("p_value") is not None
        at_size = self.better == "closer" or (self.size_sensitive and not is_tested)
        return "matched_value" if at_size else "value"

    @property
    def ranked_by(self) -> Literal["value", "matched_value"] | None:
        """Which value generators are ranked by: where closer to real text is better, that at the floor's size."""
        if self.better == "neither":
            return None
        return "matched_value" if self.better == "closer" else "value"


@dataclass(frozen=True)
class PairDifference:
    """Difference ``value(a) - value(b)`` of one metric on the same real text, with interval and p-values.

    `p_adjusted` is Holm's over all pairs of this metric. All but `metric`, `a`, `b` are None where undefined.
    """

    metric: str
    a: str
    b: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None


@dataclass(frozen=True)
class Rank:
    """Rank interval of a generator under one metric, 1 is best: from 1 + significantly better to n - worse."""

    generator: str
    metric: str
    low: int
    high: int


@dataclass(frozen=True)
class Equivalence:
    """Whether a generator's text is equivalent to real text by one metric, beside a margin named beforehand.

    Attributes
    ----------
    generator, metric
        Whose text, by what.
    verdict
        "PASS", "FAIL" or "INCONCLUSIVE".
    margin
        The largest value of a judge such as dd, or difference of another metric from real text, that does not matter.
    value, low, high
        That value, or that difference, and its limits, for all verdicts of the comparison together; None where there
        are none.
    certified
        The total variation is at least this, certified for all verdicts together; None where nothing certifies it.
    for_any_judge
        Whether it fails because of that, and not only by this judge.
    judge
        What PASS is relative to: the classifier of dd; empty for a metric that has none.
    n
        Texts of the smaller side.
    needed
        How many would decide with a chance of 80 %, if the value stayed as it is; None where it is decided or that is
        more than 100 times as many.
    reason
        Why nothing could be told; else empty.
    """

    generator: str
    metric: str
    verdict: Literal["PASS", "FAIL", "INCONCLUSIVE"]
    margin: float
    value: float | None = None
    low: float | None = None
    high: float | None = None
    certified: float | None = None
    for_any_judge: bool = False
    judge: str = ""
    n: int | None = None
    needed: int | None = None
    reason: str = ""


@dataclass(frozen=True, repr=False)
class Comparison(Displayed, document="textassay.comparison.document:comparison_document"):
    """Many metrics over many generators against one real text; made by `compare`.

    ``print(comparison)`` shows the answer, the warnings and the main table on one screen; a notebook shows the same.
    All numbers are in `to_frame`, and every file of ``textassay compare --out`` is written by `save`.

    Attributes
    ----------
    version
        Of textassay.
    real
        The real text: name, number of texts, content hash.
    generators, metrics
        Names, in the order given.
    results
        One `Result` for each generator, or row of reference, and metric.
    pairs
        The differences between generators, for every metric.
    ranks
        Rank intervals of the generators, for every metric with a direction.
    findings
        Trivial differences that inspection found before measuring.
    warnings
        Warnings of the metrics.
    level, seed
        Confidence level of the intervals; random seed.
    explanations
        What gives each generator away, where dd is among the metrics.
    settings
        The other settings of the call, by name.
    texts
        Each side's texts as they were measured, real ones under ``(real)``; None for a comparison read from a file.
    draws
        What was drawn from generators that were given as models or commands.
    floor_groups
        Of real text in groups (prompts, documents): how many there are, ``n_groups``, and how many have texts in both
        halves of the row ``(real)``, ``n_shared``; empty where texts are not grouped.
    equivalence
        A verdict for each metric that was given a margin, and each generator.
    """

    version: str
    real: RealText
    generators: tuple[str, ...]
    metrics: tuple[str, ...]
    results: tuple[Result, ...]
    pairs: tuple[PairDifference, ...]
    ranks: tuple[Rank, ...]
    findings: tuple[Finding, ...]
    warnings: tuple[str, ...]
    level: float
    seed: int
    explanations: tuple[Explanation, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, Sequence[str]] | None = field(default=None, compare=False)
    draws: tuple[Draw, ...] = ()
    floor_groups: Mapping[str, int] = field(default_factory=dict)
    equivalence: tuple[Equivalence, ...] = ()

    def __str__(self) -> str:
        from textassay.comparison.document import screen_text

        return screen_text(self)

    def _repr_html_(self) -> str:
        from textassay.comparison.document import notebook_html

        return notebook_html(self)

    def __repr__(self) -> str:
        generators, metrics = (
            ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} {noun}"
            for names, noun in ((self.generators, "generators"), (self.metrics, "metrics"))
        )
        return f"<Comparison of {generators} with {self.real.name} by {metrics}>"

    @property
    def headline(self) -> str | None:
        """The metric that answers: the first that has a direction and a value; None where there is no such metric."""
        return self._standings.headline

    @cached_property
    def _standings(self) -> "Standings":
        from textassay.comparison.standings import Standings

        return Standings(self)

    def result(self, generator: str, metric: str) -> Result:
        """Return the result of one generator by one metric.

        Parameters
        ----------
        generator
            A generator's name, or a row of reference: ``(real)``, ``(real-heldout)``, ``(train)``.
        metric
            As in `metrics`, or the name before its bracket where only one metric has it: "bleu" for ``bleu(order=4)``.

        Raises
        ------
        KeyError
            If there is no such result; the message lists the names there are.
        """
        name = self._metric(metric)
        for result in self.results:
            if result.generator == generator and result.metric == name:
                return result
        known = dict.fromkeys(result.generator for result in self.results)
        raise KeyError(f"no result of {name} for {generator!r}: the generators are {', '.join(known)}")

    def best(self, metric: str | None = None) -> tuple[str, ...]:
        """Return the generators that share first place.

        First place is shared by all that none is significantly better than (p-values adjusted by Holm's method over
        all pairs, at the comparison's `level`). With few texts that may be every generator.

        Parameters
        ----------
        metric
            As in `metrics`, or the name before its bracket where only one metric has it; by default `headline`.

        Returns
        -------
        tuple of str
            In the order of `order`; empty where the metric has no direction. Of several generators, those whose
            difference from every other is undefined are left out.

        Raises
        ------
        KeyError
            If the comparison has no such metric.
        """
        name = self._metric(metric)
        first = self._standings.best(name)
        return tuple(generator for generator in self._standings.order_by(name) if generator in first)

    def order(self, metric: str | None = None) -> tuple[str, ...]:
        """Return the generators from best to worst.

        Neighbours need not differ significantly: `tied` says which do not.

        Parameters
        ----------
        metric
            As in `best`.

        Returns
        -------
        tuple of str
            By rank, then by the value that tables show; generators without a value come last, and all as they came
            where the metric has no direction.

        Raises
        ------
        KeyError
            If the comparison has no such metric.
        """
        return self._standings.order_by(self._metric(metric))

    def separated(self, metric: str | None = None) -> tuple[PairDifference, ...]:
        """Return the pairs of generators whose difference is significant.

        Parameters
        ----------
        metric
            As in `best`.

        Returns
        -------
        tuple of PairDifference
            Those whose `p_adjusted` is below ``1 - level``.

        Raises
        ------
        KeyError
            If the comparison has no such metric.
        """
        return tuple(pair for pair in self._standings.pairs(self._metric(metric)) if self._standings.separated(pair))

    def tied(self, metric: str | None = None) -> tuple[PairDifference, ...]:
        """Return the pairs of generators whose difference could be luck.

        That two are tied does not mean that they are alike: `low` and `high` of the pair say how much they may differ.

        Parameters
        ----------
        metric
            As in `best`.

        Returns
        -------
        tuple of PairDifference
            Those whose `p_adjusted` is ``1 - level`` or more; pairs without a p-value are neither tied nor separated.

        Raises
        ------
        KeyError
            If the comparison has no such metric.
        """
        pairs = self._standings.pairs(self._metric(metric))
        return tuple(pair for pair in pairs if pair.p_adjusted is not None and not self._standings.separated(pair))

    def verdict(self, generator: str, metric: str | None = None) -> "Verdict | None":
        """Return whether a generator's text can be told from real text.

        Parameters
        ----------
        generator
            Its name.
        metric
            As in `best`.

        Returns
        -------
        str or None
            "separated": told apart. "hardly": the p-value is significant, but the interval reaches what real text
            scores. "negligible": no further from real text than the smallest difference that matters (0.02 of a
            fraction). "open": cannot be told from this many texts. "blind": cannot be told, since most texts share
            nothing with the text that the classifier learnt from. "unknown" or None: there is no interval.

        Raises
        ------
        KeyError
            If the comparison has no such generator or metric.
        """
        name = self._metric(metric)
        self.result(generator, name)
        return self._standings.verdict(generator, name)

    def _metric(self, name: str | None) -> str:
        """Return the full name of a metric of this comparison, of `headline` by default."""
        name = self.headline or self.metrics[0] if name is None else name
        if name in self.metrics:
            return name
        family = [metric for metric in self.metrics if metric.split("(")[0] == name]
        if len(family) == 1:
            return family[0]
        raise KeyError(f"no metric {name!r} in this comparison: choose from {', '.join(family or self.metrics)}")

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of the command-line contract."""
        return {
            "version": self.version,
            "real": self.real.to_dict(),
            "generators": list(self.generators),
            "metrics": list(self.metrics),
            "level": self.level,
            "seed": self.seed,
            "results": [_result_to_dict(result) for result in self.results],
            "pairs": [asdict(pair) for pair in self.pairs],
            "ranks": [asdict(rank) for rank in self.ranks],
            "findings": [finding.to_dict() for finding in self.findings],
            "warnings": list(self.warnings),
            "explanations": [explanation.to_dict() for explanation in self.explanations],
            "settings": dict(self.settings),
            **({"draws": [draw.to_dict() for draw in self.draws]} if self.draws else {}),
            **({"floor_groups": dict(self.floor_groups)} if self.floor_groups else {}),
            **({"equivalence": [asdict(one) for one in self.equivalence]} if self.equivalence else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Comparison":
        """Return the comparison that `to_dict` gave as `data`, without evidence."""
        return cls(
            version=data["version"],
            real=RealText(**data["real"]),
            generators=tuple(data["generators"]),
            metrics=tuple(data["metrics"]),
            results=tuple(_result_from_dict(result) for result in data["results"]),
            pairs=tuple(PairDifference(**pair) for pair in data["pairs"]),
            ranks=tuple(Rank(**rank) for rank in data["ranks"]),
            findings=tuple(Finding.from_dict(finding) for finding in data["findings"]),
            warnings=tuple(data["warnings"]),
            level=data["level"],
            seed=data["seed"],
            explanations=tuple(Explanation.from_dict(explanation) for explanation in data["explanations"]),
            settings=data["settings"],
            draws=tuple(Draw.from_dict(draw) for draw in data.get("draws", ())),
            floor_groups=data.get("floor_groups", {}),
            equivalence=tuple(Equivalence(**one) for one in data.get("equivalence", ())),
        )

    def to_markdown(self, *, short: bool = False) -> str:
        """Return the whole comparison as a Markdown document: answer, warnings, all tables, pairs, giveaways.

        With `short`, a screen for a pull request, as ``textassay compare --summary`` writes it: verdicts with intervals
        beside what real text scores, the main metrics, warnings.
        """
        from textassay.comparison.document import comparison_markdown
        from textassay.comparison.summary import comparison_summary

        return comparison_summary(self) if short else comparison_markdown(self)

    def to_latex(self, *, everything: bool = False) -> str:
        r"""Return the main table for LaTeX, or all, each as wide as a page at most; needs ``\usepackage{booktabs}``."""
        from textassay.comparison.document import comparison_latex

        return comparison_latex(self, everything=everything)

    def save(self, folder: str | Path) -> list[Path]:
        """Write every file of ``textassay compare --out`` into a folder, which is made if it is absent.

        Parameters
        ----------
        folder
            Files of an earlier report of the same real text and settings are replaced, all together. It may be an
            address, such as ``s3://bucket/folder``; then no path is returned.

        Returns
        -------
        list of Path
            ``report.html`` (the page), ``results.json`` (everything, in full precision), ``results.csv``,
            ``results.md``, ``results.tex``, ``figures/*.svg``, and ``sentences.csv`` (the score of every text) where a
            metric scores texts and `texts` is known.

        Raises
        ------
        InputError
            If the folder holds the report of another real text or of other settings.
        OutputError
            If a file cannot be written; then the folder is as it was before.
        """
        from textassay.comparison.document import write_report

        return write_report(self, folder, texts=self.texts)

    def _columns(self) -> dict[str, list[Any]]:
        return columns_from([_result_to_dict(result) for result in self.results], _COLUMNS)


def _result_to_dict(result: Result) -> dict[str, Any]:
    empty = dict.fromkeys(("value", "low", "high", "level", "interval_method", "unit", "sizes", "signature"))
    estimate = {**empty, "details": {}} if result.estimate is None else result.estimate.to_dict()
    matched, floor = (None if found is None else found.to_dict() for found in (result.matched, result.floor))
    return {
        **estimate,
        "generator": result.generator,
        "metric": result.metric,
        "better": result.better,
        "matched_value": None if matched is None else matched["value"],
        "floor_value": None if floor is None else floor["value"],
        "ranked_by": result.ranked_by,
        "shown_by": result.shown_by,
        "size_sensitive": result.size_sensitive,
        "matched": matched,
        "floor": floor,
        "error": result.error,
    }


def _result_from_dict(data: Mapping[str, Any]) -> Result:
    return Result(
        generator=data["generator"],
        metric=data["metric"],
        better=data["better"],
        estimate=None if data["signature"] is None else Estimate.from_dict(data),
        matched=None if data["matched"] is None else Estimate.from_dict(data["matched"]),
        floor=None if data["floor"] is None else Estimate.from_dict(data["floor"]),
        error=data["error"],
        size_sensitive=data["size_sensitive"],
    )
