"""The interface of a metric, and the parts that every metric file uses."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any, Literal, Protocol, Unpack, cast, get_args, runtime_checkable

from textassay.corpus import Corpus, TextOptions, Texts, prepare_corpora
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError, unknown_name
from textassay.estimate import Better, Estimate, Signature

Effort = Literal["quick", "default", "max"]


class Metric(Protocol):
    """A distance or score of generated text against real text.

    `prepare` reads the real text once, `statistics` does the heavy work for one generator, and `estimate` computes the
    value. Metrics with equal `shares`, such as orders of BLEU, have the same state and statistics, so a comparison
    computes these once. `measure` calls all three for a single metric.
    """

    @property
    def level(self) -> float:
        """Confidence level of the interval, such as 0.95."""
        ...

    @property
    def name(self) -> str:
        """Canonical name, with the order and all parameters that differ from their defaults."""
        ...

    @property
    def better(self) -> Better:
        """Direction of the metric."""
        ...

    @property
    def shares(self) -> Hashable:
        """Key under which state and statistics are shared."""
        ...

    def prepare(self, real: Corpus) -> Any:
        """Return the state that depends on real text alone."""
        ...

    def statistics(self, state: Any, generated: Corpus, *, seed: int) -> Any:
        """Return the statistics of one generator's text."""
        ...

    def estimate(self, statistics: Any) -> Estimate:
        """Return the value with its interval."""
        ...


@runtime_checkable
class ColumnMetric(Metric, Protocol):
    """A metric that may read `Corpus.columns`, which then are part of the key of stored estimates."""

    @property
    def reads_columns(self) -> bool:
        """Whether it reads columns with its present settings."""
        ...


def measure(
    metric: Metric, generated: Texts, real: Texts = None, *, seed: int = 0, **text: Unpack[TextOptions]
) -> Estimate:
    """Return the value of `metric` for `generated` against `real`.

    Parameters
    ----------
    metric
        From `parse_metric`, or one of your own.
    generated, real
        Lists of str, columns, paths or corpora; two corpora must share a vocabulary. `real` may be left out where the
        metric does not use it.
    seed
        At least 0.
    text
        `tokenizer`, `lowercase`, `normalize` and `max_tokens`, as in `compare`.
    """
    generated, real, _ = prepare_sides(generated, real, **text)
    state = metric.prepare(generated if real is None else real)
    estimate = metric.estimate(metric.statistics(state, generated, seed=seed))
    if real is not None:
        return estimate
    return replace(estimate, sizes={name: size for name, size in estimate.sizes.items() if name != "n_real"})


def prepare_sides(
    generated: Texts, real: Texts, others: Mapping[str, Texts] | None = None, **text: Unpack[TextOptions]
) -> tuple[Corpus, Any, dict[str, Corpus | None]]:
    """Return both sides, and `others`, as corpora that share a vocabulary; None for a text that is None.

    Corpora stay unchanged if all texts are corpora; metrics then check their vocabularies.
    """
    sides = {"generated": generated, "real": real}
    sources = {name: source for name, source in {**sides, **(others or {})}.items() if source is not None}
    if text or not all(isinstance(source, Corpus) for source in sources.values()):
        sources = prepare_corpora(sources, **text)
    corpora = {name: sources.get(name) for name in others or {}}
    return sources["generated"], sources.get("real"), corpora


def check_corpora(generated: Corpus, real: Corpus, *, metric: str, at_least: int = 1) -> None:
    """Raise unless both corpora have `at_least` texts and share one vocabulary; one passed twice counts as real."""
    for side, corpus in (("generated", generated), ("real", real)):
        if side == "generated" and generated is real:
            continue
        if len(corpus) == 0:
            raise EmptyCorpusError(f"{metric}: the {side} corpus has no text")
        if len(corpus) < at_least:
            raise TooFewSentencesError(
                f"{metric} needs at least {at_least} texts a side, the {side} corpus has {len(corpus)}"
            )
    if generated.vocabulary is not real.vocabulary:
        raise OptionError(f"{metric}: the corpora have different vocabularies; make both with corpora_from_texts")


def check_effort(effort: str) -> Effort:
    """Return `effort`; raise if it is unknown."""
    if effort not in get_args(Effort):
        raise unknown_name("effort", str(effort), get_args(Effort))
    return cast(Effort, effort)


def check_level(level: float, *, name: str = "level") -> None:
    """Raise unless `level`, an option called `name`, is in (0, 1)."""
    if not 0 < level < 1:
        raise OptionError(f"{name} must be between 0 and 1, got {level}")


def make_signature(metric: str, generated: Corpus, real: Corpus, *, seed: int, **settings: object) -> Signature:
    """Return the signature of one estimate: the metric's own `settings`, then those that all metrics have."""
    return Signature(
        {
            "metric": metric.replace("|", "/"),
            **{key: str(value).replace("|", "/") for key, value in settings.items()},
            "tok": real.tokenizer.replace("|", "/"),
            "n": str(len(generated)) if generated is real else f"{len(generated)}+{len(real)}",
            "seed": str(seed),
            "v": _version(),
        }
    )


@cache
def _version() -> str:
    return version("textassay")
