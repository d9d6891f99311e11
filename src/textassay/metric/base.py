"""What a metric declares and returns, how it becomes an estimate, and work that several metrics share.

A metric is one function of two corpora under `declare_metric`, which says what it promises. The function returns a
number, one number a generated text (their mean is the value), or `Computed`: the value and the terms of its interval.
What several metrics need, such as the n-gram matches of all orders of BLEU, is done once by `compute_once`.
"""

import inspect
import math
import re
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, wraps
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import version
from threading import Lock
from types import MappingProxyType
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus, TextOptions, Texts, corpora_from_texts
from textassay.corpus.groups import PROMPTS, with_prompts, with_shared_ids
from textassay.corpus.structure import TextUnit
from textassay.corpus.texts import as_texts
from textassay.embedding.encoder import Encoder
from textassay.embedding.store import resolve_encoder
from textassay.errors import (
    EmptyCorpusError,
    FindingWarning,
    InputError,
    OptionError,
    TextassayError,
    TooFewSentencesError,
    UnavailableError,
    check_range,
    unknown_name,
)
from textassay.estimate import Better, Estimate, Evidence, Interval, Signature
from textassay.fields import Between
from textassay.inspection.beside_a_value import GENERATED, findings_beside, warning_of
from textassay.inspection.checks import few_sentences
from textassay.inspection.dependence import Dependence, Examined
from textassay.inspection.finding import Findings
from textassay.inspection.within import examine_real
from textassay.resampling.jackknife import GroupedTerms, Terms, clustered, jackknife_terms, terms_interval, text_terms
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

Effort = Literal["quick", "default", "max"]
Cost = Literal["linear", "n log n", "quadratic"]
Blindness = Literal["word order", "words"]  # words: the value stays where each word is replaced by another, one to one


@dataclass(frozen=True)
class Setting:
    """What a parameter of a metric is beside its type; it stands in the parameter's annotation, as its range does."""

    is_shared: bool = False  # of a whole comparison, not of one metric: never written or shown in a metric's name
    is_shown: bool = False  # always part of the name
    names_encoder: bool = False
    text: str = ""  # which text it is, if it is one


SharedEffort = Annotated[Effort, Setting(is_shared=True)]
SharedUnit = Annotated[TextUnit | None, Setting(is_shared=True)]
TrainText = Annotated[Corpus | None, Setting(is_shared=True, text="training text")]
MoreRealText = Annotated[Corpus | None, Setting(is_shared=True, text="more real text")]
Prompts = Annotated[Corpus | None, Setting(is_shared=True, text="prompts")]
EncoderName = Annotated[str | Encoder, Setting(names_encoder=True)]
Counted = Annotated[int, Between(1)]
_PLAIN = Setting()
DRAWN = "texts"  # a setting of metrics whose cost grows faster than the text, or that hold vectors: of how many texts
MOST_VECTORS = 120_000  # texts a side that metrics of vectors draw from larger texts, unless they are named
MOST_MODELLED = 1_000_000  # and those that fit language models or compress, which take gigabytes or minutes from there
_COMMON = """All metrics take `level`, of the confidence interval, inside (0, 1); `seed`, at least 0; `independent`,
whether to treat texts as independent without a test. They share the preparation of texts with `compare`: `tokenizer`,
`lowercase`, `normalize`, `max_tokens`. Those that take `texts` measure as many drawn texts of each
side, all where it is None. A text may be a list of str, a column, a path or a `Corpus`. All raise `EmptyCorpusError`
where a side has no text, `OptionError` for a setting out of range."""
_TEXT_OPTIONS = tuple(TextOptions.__annotations__)

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Computed:
    """What a metric returns: its value, and what its interval, signature and details are made of."""

    value: float
    # Terms of each side that varies (see `Evidence`), under "generated" and "real"; None where there is no variance
    terms: Mapping[str, Terms | None] = field(default_factory=dict)
    method: str = ""  # of the interval that follows from the terms
    interval: Interval | None = None  # where it does not follow from the terms
    undefined: str | None = None  # why the value is NaN
    caution: str | None = None  # why the value says little
    sizes: Mapping[str, int] = field(default_factory=dict)  # beside the texts of both sides
    settings: Mapping[str, object] = field(default_factory=dict)  # of the signature
    details: Mapping[str, Any] = field(default_factory=dict)
    real_scores: FloatArray | None = None
    generated_scores: FloatArray | None = None


class MetricFunction(Protocol):
    """A metric as users call it: texts in, `Estimate` out."""

    declaration: "Declaration"
    __name__: str

    def __call__(self, *args: Any, **settings: Any) -> Estimate: ...


@dataclass(frozen=True)
class Declaration:
    """What a metric promises; the tests in `tests/properties` check it for every metric of the catalogue."""

    name: str
    summary: str  # one sentence for lists and reports
    compute: Callable[..., Any]
    unit: str
    better: Better
    bounds: tuple[float, float]
    classifies: bool  # whether it judges texts by what it learnt from others: a text's partner then misleads it
    symmetric: bool  # whether swapping the sides leaves the value as it is (up to the noise of sampling folds)
    looks_at_real: bool  # whether the value depends on the real text at all
    size_sensitive: bool  # whether the expected value changes with the number of texts
    exact_under_reordering: bool  # whether the order of texts leaves the value exactly as it is
    cannot_see: tuple[Blindness, ...]  # what may differ between two texts without moving the value
    needs: tuple[str, ...]  # what it needs beside both texts (an option of ``compare``); with it, a default metric
    only_named: bool  # whether it is never computed unasked
    most: int | None  # texts a side; where there are more, as many are drawn unless it is named
    cost: Cost  # in the number of texts
    at_least: int  # texts a side
    family: str  # metrics of one family share work
    reads_columns: bool | Callable[[Mapping[str, Any]], bool]
    check: Callable[[Mapping[str, Any]], None] | None
    resolve: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None  # from settings as given to those that are kept
    identity: Callable[[Mapping[str, Any]], str] | None  # what else decides the value, such as members that are missing

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The settings of the metric itself, beside the two texts, `level` and `seed`."""
        everything = inspect.signature(self.compute).parameters.values()
        own = {each.name: each for each in everything if each.name not in ("generated", "real", "level", "seed")}
        if self.cost == "quadratic" or self.most is not None:
            own[DRAWN] = inspect.Parameter(DRAWN, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=int | None)
        return own

    @cached_property
    def annotations(self) -> Mapping[str, tuple[Any, ...]]:
        """What stands in the annotation of each setting beside its type: what it is, its range."""
        hints = get_type_hints(self.compute, include_extras=True)
        return {name: getattr(hints.get(name), "__metadata__", ()) for name in self.parameters}

    def setting(self, name: str) -> Setting:
        """Return what a parameter is."""
        return next((part for part in self.annotations[name] if isinstance(part, Setting)), _PLAIN)

    @cached_property
    def own_settings(self) -> tuple[str, ...]:
        """The settings that a metric's name may have."""
        return tuple(name for name in self.parameters if not self.setting(name).is_shared)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The parameters that are texts, and which."""
        return {name: self.setting(name).text for name in self.parameters if self.setting(name).text}

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """Type of each setting, and of the level."""
        hints = {DRAWN: int | None, **get_type_hints(self.compute)}
        return {"level": float, **{name: hints.get(name, Any) for name in self.parameters}}

    def with_settings(self, *, level: float = 0.95, **settings: Any) -> "Metric":
        """Return the metric with these settings; raise for one that is unknown or out of range."""
        for name in settings:
            if name not in self.parameters:
                raise unknown_name(f"parameter of {self.name}", name, self.parameters)
        check_level(level)
        values = {name: settings.get(name, each.default) for name, each in self.parameters.items()}
        for name, value in values.items():
            self._check(name, value)
        if self.check is not None:
            self.check(values)
        if self.resolve is not None:
            values = dict(self.resolve(values))
        return Metric(self, MappingProxyType(values), level)

    def _check(self, name: str, value: Any) -> None:
        kind = self.types[name]
        if get_origin(kind) is Literal and value not in get_args(kind):
            raise unknown_name(f"value of {self.name}({name})", str(value), get_args(kind))
        if (name == DRAWN and value is None) or (isinstance(value, str) and value in words_of(kind)):
            return
        is_count = kind is int or name == DRAWN or int in get_args(kind)
        if is_count and (isinstance(value, bool) or not isinstance(value, int | np.integer)):
            raise OptionError(f"{name} must be a whole number, got {value!r}")
        if name == DRAWN:
            check_range(name, value, max(2, self.at_least))
        for part in self.annotations[name]:
            if isinstance(part, Between):
                part.check(name, value)


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric with its settings, from `parse_metric` or `Declaration.with_settings`."""

    declaration: Declaration
    settings: Mapping[str, Any]
    level: float = 0.95

    def __repr__(self) -> str:
        return f"Metric({self.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what is sent to another process: of a metric of the catalogue, where its declaration is."""
        declaration, home = self.declaration, str(self.declaration.compute.__module__)
        what = (home, declaration.name) if home.startswith("textassay.") else declaration
        return _metric, (what, dict(self.settings), self.level)

    @cached_property
    def name(self) -> str:
        """Canonical name, with the settings that are always shown and all that differ from their defaults."""
        declaration = self.declaration
        parts = []
        for name in declaration.own_settings:
            setting, default = declaration.setting(name), declaration.parameters[name].default
            spelt = _spelt(setting, self.settings[name])
            if setting.is_shown or spelt != _spelt(setting, default):
                parts.append(f"{name}={spelt}")
        return f"{declaration.name}({','.join(parts)})" if parts else declaration.name

    @property
    def better(self) -> Better:
        return self.declaration.better

    @property
    def key(self) -> str:
        """Everything that decides the value beside the texts and the seed, for keys of stored results."""
        of = self.declaration.setting
        parts = [f"{name}={_identity(of(name), value)}" for name, value in self.settings.items()]
        if self.declaration.identity is not None:
            parts.append(self.declaration.identity(self.settings))
        if not str(self.declaration.compute.__module__).startswith("textassay."):
            parts.append(_code_hash(self.declaration.compute))
        return f"{self.declaration.name}({', '.join(parts)})"

    def without(self, text: str) -> "Metric":
        """Return the metric without one of the texts that it is given, such as ``trained_on``."""
        if self.settings.get(text) is None:
            return self
        return replace(self, settings=MappingProxyType({**self.settings, text: None}))

    @cached_property
    def reads_columns(self) -> bool:
        """Whether it reads `Corpus.columns`, which then are part of the keys of stored estimates."""
        reads = self.declaration.reads_columns
        if reads is True or (callable(reads) and reads(self.settings)):
            return True
        return any(encoder.reads_columns for encoder in self._encoders())

    @property
    def _encoder_detail(self) -> dict[str, str]:
        encoder = self.settings.get("encoder")
        return {} if encoder is None else {"encoder": resolve_encoder(encoder).name}

    def _encoders(self) -> Iterable[Encoder]:
        for name, value in self.settings.items():
            if self.declaration.setting(name).names_encoder and value not in (None, "tf-idf"):
                yield resolve_encoder(value)

    def is_valid(self, dependence: Dependence) -> bool:
        """Return whether the value means anything for texts that depend on each other like this."""
        return dependence.can_be_told or not self.declaration.classifies

    def estimate_examined(self, texts: Examined, *, seed: int = 0) -> Estimate:
        """Return the value and interval for texts whose independence was examined.

        Where texts of a side depend on each other, the detail ``as_independent`` has the value that takes each for an
        independent draw; where both are far apart and a generator that repeats itself looks the same, there is nothing
        to rank it by. Where nothing can be told, there is no interval, and no value of a metric that classifies texts.
        """
        found = texts.dependence
        by_prompt = "prompts" in self.declaration.needs
        generated, real = texts.declared if by_prompt else (texts.generated, texts.real)
        if not self.is_valid(found):
            warnings.warn(f"{self.name} is {found.reason}", RuntimeWarning, stacklevel=2)
            sizes = {"n_generated": len(generated), "n_real": len(real)}
            signature = make_signature(self.name, generated, real, seed=seed, units=found.label)
            declaration = self.declaration
            return Estimate(self.name, math.nan, None, declaration.unit, declaration.better, sizes, signature)
        return self.annotated(self.estimate(generated, real, seed=seed), texts, seed=seed)

    def annotated(self, estimate: Estimate, texts: Examined, *, seed: int = 0) -> Estimate:
        """Return the estimate of texts in their groups as `estimate_examined` does."""
        found = texts.dependence
        if not found.label or "prompts" in self.declaration.needs:
            return estimate
        settings = {**estimate.signature.settings, "units": found.label}
        estimate = replace(estimate, signature=Signature(settings))
        if not found.can_be_told:
            return replace(estimate, interval=None, evidence=None)
        if not found.is_across and found.is_found and self.declaration.classifies:
            alone = self.estimate(*texts.declared, seed=seed)
            low, high = (None, None) if alone.interval is None else (alone.interval.low, alone.interval.high)
            details = {**estimate.details, "as_independent": {"value": alone.value, "low": low, "high": high}}
            estimate = replace(estimate, details=details)
            if found.may_be_collapse and _are_apart(estimate.interval, alone.interval):
                return replace(estimate, evidence=None)
        return estimate

    def estimate(self, generated: Corpus, real: Corpus, *, seed: int = 0) -> Estimate:
        """Return the value with its interval, for corpora that share a vocabulary.

        Texts of one group are one unit; those of different groups are taken to be independent.
        """
        declaration = self.declaration
        check_corpora(generated, real, metric=declaration.name, at_least=declaration.at_least)
        for name, kind in declaration.texts.items():
            if name in declaration.needs or self.settings.get(name) is not None:
                _check_text(self.settings.get(name), real, metric=declaration.name, name=name, kind=kind)
        if not self.reads_columns:  # so that work is shared between generators whose columns differ
            is_same = generated is real
            real = real.without_columns()
            generated = real if is_same else generated.without_columns()
        if self.settings.get(DRAWN) is not None:
            is_same = generated is real
            real = compute_once(_drawn, real, "real", self.settings[DRAWN], seed)
            generated = real if is_same else compute_once(_drawn, generated, "generated", self.settings[DRAWN], seed)
        given = {"level": self.level, "seed": seed, **self.settings}
        accepted = inspect.signature(declaration.compute).parameters
        settings = {name: value for name, value in given.items() if name in accepted}
        with _named(declaration):
            computed = _as_computed(declaration.compute(generated, real, **settings), generated)
            _check_value(declaration, computed.value)
        if computed.undefined is not None:
            warnings.warn(f"{self.name} is undefined: {computed.undefined}", RuntimeWarning, stacklevel=2)
        if computed.caution is not None:
            warnings.warn(f"{self.name} is of little use here: {computed.caution}", RuntimeWarning, stacklevel=2)
        interval = computed.interval
        if interval is None:
            low, high = declaration.bounds
            samples = list(computed.terms.values())
            interval = terms_interval(
                computed.value, samples, level=self.level, method=computed.method, low=low, high=high
            )
        real_terms, generated_terms = (computed.terms.get(side) for side in ("real", "generated"))
        evidence = Evidence(
            clustered(real_terms), clustered(generated_terms), computed.real_scores, computed.generated_scores,
            real.groups, generated.groups, _of_all(real, real_terms), _of_all(generated, generated_terms),
        )  # fmt: skip
        return Estimate(
            metric=self.name,
            value=computed.value,
            interval=interval,
            unit=declaration.unit,
            better=declaration.better,
            sizes={"n_generated": len(generated), "n_real": len(real), **computed.sizes},
            signature=make_signature(self.name, generated, real, seed=seed, **computed.settings),
            details={**self._encoder_detail, **computed.details},
            evidence=None if interval is None else evidence,
        )


def _are_apart(one: Interval | None, other: Interval | None) -> bool:
    """Return whether two intervals have nothing in common, or one is missing."""
    return one is None or other is None or one.high < other.low or other.high < one.low


def _of_all(corpus: Corpus, terms: Terms | None) -> FloatArray | None:
    """Return the terms of single texts that come in groups, where every text of the corpus has one."""
    return terms.values if isinstance(terms, GroupedTerms) and len(terms.values) == len(corpus) else None


def _drawn(corpus: Corpus, side: str, n: int, seed: int) -> Corpus:
    return corpus.drawn(n, stream(seed, "texts", side))


def _metric(declaration: Declaration | tuple[str, str], settings: dict[str, Any], level: float) -> Metric:
    if isinstance(declaration, tuple):
        module, name = declaration
        import_module(module)  # which declares it
        declaration = DECLARED[name].declaration
    return Metric(declaration, MappingProxyType(settings), level)


def declare_metric(
    name: str,
    summary: str | None = None,
    *,
    unit: str = "fraction",
    better: Better = "closer",
    bounds: tuple[float, float] = (-math.inf, math.inf),
    classifies: bool = False,
    symmetric: bool = False,
    looks_at_real: bool = True,
    size_sensitive: bool = True,
    exact_under_reordering: bool = True,
    cannot_see: Sequence[Blindness] = (),
    needs: Sequence[str] = (),
    only_named: bool = False,
    most: int | None = None,
    cost: Cost = "linear",
    at_least: int = 1,
    family: str | None = None,
    reads_columns: bool | Callable[[Mapping[str, Any]], bool] = False,
    check: Callable[[Mapping[str, Any]], None] | None = None,
    resolve: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    identity: Callable[[Mapping[str, Any]], str] | None = None,
) -> Callable[[Callable[..., Any]], MetricFunction]:
    """Make a metric of a function of two corpora, generated and real, and settings by name.

    The function returns the value (a float), one number for each generated text (their mean is the value), or
    `Computed`. It may ask for `level` and `seed`. What it becomes takes texts of any kind, `level`, `seed`, and how the
    texts are prepared (`tokenizer`, `lowercase`, `normalize`, `max_tokens`), returns an `Estimate`, and stands wherever
    a metric's name does: ``compare(..., metrics=["dd", my_metric])``.

    Parameters
    ----------
    name
        As in ``--metrics``: lower case, words joined by hyphens.
    summary
        One sentence; by default, the first line of the function's docstring.
    unit
        Such as "fraction" or "nats per token".
    better
        "lower", "higher", "closer" (to what real text scores) or "neither".
    bounds
        Least and largest value; the interval is cut there.
    classifies, symmetric, looks_at_real, size_sensitive, exact_under_reordering, cannot_see
        See `Declaration`.
    needs, only_named, most, cost, at_least
        See `Declaration`.
    family, reads_columns, check, resolve, identity
        Metrics that share work; whether columns of the corpora are read; a check of the settings beyond their ranges,
        which stand in annotations; what makes objects of names among them; what else decides the value, for keys of
        stored ones.
    """

    def declare(compute: Callable[..., Any]) -> MetricFunction:
        if _is_own(compute):
            _check_name(name)
            _check_bounds(name, bounds)
        declaration = Declaration(
            name=name,
            summary=summary or (inspect.getdoc(compute) or name).split("\n")[0].rstrip("."),
            compute=compute,
            unit=unit,
            better=better,
            bounds=bounds,
            classifies=classifies,
            symmetric=symmetric,
            looks_at_real=looks_at_real,
            size_sensitive=size_sensitive,
            exact_under_reordering=exact_under_reordering,
            cannot_see=tuple(cannot_see),
            needs=tuple(needs),
            only_named=only_named,
            most=most,
            cost=cost,
            at_least=at_least,
            family=family or name,
            reads_columns=reads_columns,
            check=check,
            resolve=resolve,
            identity=identity,
        )

        @wraps(compute)
        def measured(
            generated: Texts,
            real: Texts = None,
            *,
            level: float = 0.95,
            seed: int = 0,
            independent: bool = False,
            **settings: Any,
        ) -> Estimate:
            text = cast(TextOptions, {key: settings.pop(key) for key in _TEXT_OPTIONS if key in settings})
            given = {key: settings.pop(key, None) for key in declaration.texts}
            if generated is None:
                raise OptionError(f"{name} measures generated text: give generated text as the first argument")
            if real is None and declaration.looks_at_real:
                raise OptionError(f"{name} compares with real text: give real text as the second argument")
            texts = {"generated": generated, "real": real, **given}
            if "prompts" in given:
                texts = _prompted(texts, given.pop("prompts"))
                given["prompts"] = None
            corpora = _corpora(texts, text, independent=independent)
            if PROMPTS in corpora:
                corpora["prompts"] = corpora.pop(PROMPTS)
            others = {key: corpora.get(key) for key in given}
            chosen = declaration.with_settings(level=level, **settings, **others)
            return _measured(chosen, corpora["generated"], corpora.get("real"), seed=seed, independent=independent)

        measured.__doc__ = f"{inspect.getdoc(compute) or ''}\n\n{_COMMON}"
        function = cast(MetricFunction, measured)
        function.declaration = declaration
        cast(Any, measured).__signature__ = _signature(declaration)
        DECLARED[name] = function
        return function

    return declare


def _check_name(name: str) -> None:
    """Raise unless a user's metric may be called `name`."""
    from textassay.metric.catalog import CATALOG  # which imports this module

    if not re.fullmatch(r"[A-Za-z][\w-]*", name):
        raise OptionError(f"a metric's name must be letters, digits and hyphens, got '{name}'")
    if name in list(CATALOG):
        raise OptionError(f"textassay has a metric called '{name}': choose another name")


DECLARED: dict[str, MetricFunction] = {}  # all metrics that were declared so far, by name


def words_of(kind: Any) -> tuple[str, ...]:
    """Return the words that a setting of this type may be, such as ``all`` instead of a number."""
    return tuple(word for part in (kind, *get_args(kind)) if get_origin(part) is Literal for word in get_args(part))


def jackknifed(value: float, without: FloatArray, groups: IntArray, *, of: str = "generated", **parts: Any) -> Computed:
    """Return a value whose interval comes from leaving out groups of the texts of one side.

    `without`: the value without each group, shape (G,); `groups`: of each text, shape (n,); `parts`: of `Computed`.
    """
    sizes = np.bincount(groups)
    parts = {"method": f"t: jackknife over {len(sizes)} groups of {of} sentences"} | parts
    return Computed(value, terms={of: jackknife_terms(value, without, sizes)}, **parts)


def measure(
    metric: Metric | MetricFunction,
    generated: Texts,
    real: Texts = None,
    *,
    seed: int = 0,
    independent: bool = False,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the value of `metric` for `generated` against `real`.

    Parameters
    ----------
    metric
        From `parse_metric`, or one of your own.
    generated, real
        Texts of any kind, as in `compare`. `real` may be left out where the metric does not use it.
    seed
        At least 0.
    independent
        Whether to take texts for independent draws without a look at them, as in `compare`.
    text
        `tokenizer`, `lowercase`, `normalize` and `max_tokens`, as in `compare`.
    """
    chosen = metric if isinstance(metric, Metric) else metric.declaration.with_settings()
    corpora = _corpora({"generated": generated, "real": real}, text, independent=independent)
    return _measured(chosen, corpora["generated"], corpora.get("real"), seed=seed, independent=independent)


def _corpora(texts: Mapping[str, Texts], text: TextOptions, *, independent: bool) -> dict[str, Corpus]:
    """Return the texts that are there as corpora that share a vocabulary, in groups by ids that both sides have."""
    given = {name: source for name, source in texts.items() if source is not None}
    if not independent:
        sides = {name: as_texts(source, name) for name, source in given.items() if not isinstance(source, Corpus)}
        given, _ = with_shared_ids({**given, **sides}, "real", ("generated",))
    return corpora_from_texts(given, **text)


def _prompted(texts: Mapping[str, Texts], prompts: Any) -> dict[str, Texts]:
    """Return both sides grouped by prompt, with the prompts; corpora are given with a corpus of prompts."""
    others = {name: text for name, text in texts.items() if name != "prompts"}
    if isinstance(prompts, Corpus):
        return {**others, PROMPTS: prompts}
    sides = {name: others.pop(name) for name in ("generated", "real")}
    return {**with_prompts(sides, prompts), **others}


def _measured(
    metric: Metric, generated: Corpus, real: Corpus | None, *, seed: int, independent: bool = False
) -> Estimate:
    """Return the estimate; of a metric that does not look at real text, without its size."""
    if real is None:
        estimate = metric.estimate(generated, generated, seed=seed)
        estimate = replace(estimate, sizes={name: size for name, size in estimate.sizes.items() if name != "n_real"})
        few = few_sentences(generated, GENERATED)
        return _with_findings(estimate, Findings([] if few is None else [few]))
    if generated is real:
        estimate = metric.estimate(generated, real, seed=seed)
        return _with_findings(estimate, findings_beside(Examined.of(generated, real, independent=True)))
    check_corpora(generated, real, metric=metric.declaration.name)
    within = None if independent else examine_real(real)
    texts = Examined.of(generated, real, within=within, independent=independent)
    return _with_findings(metric.estimate_examined(texts, seed=seed), findings_beside(texts, within=within))


def _with_findings(estimate: Estimate, findings: Findings) -> Estimate:
    """Return the estimate with what was found in its texts, the warnings of which are one of Python, too."""
    if message := warning_of(findings):
        warnings.warn(f"{estimate.metric}: {message}", FindingWarning, stacklevel=4)
    return replace(estimate, findings=findings)


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


def _check_text(text: Corpus | None, real: Corpus, *, metric: str, name: str, kind: str) -> None:
    """Raise unless `text`, beside the two sides, is there, is not empty and shares their vocabulary."""
    if text is None:
        remedy = "--prompt-column NAME, or texts with prompts" if name == "prompts" else f"--{name} FILE"
        raise UnavailableError(f"{metric} needs the {kind}: give {remedy}")
    if len(text) == 0:
        raise EmptyCorpusError(f"{metric}: the {kind} has no sentence")
    if text.vocabulary is not real.vocabulary:
        raise OptionError(f"{metric}: the {kind} has another vocabulary; make all with corpora_from_texts")


def check_effort(effort: str) -> Effort:
    if effort not in get_args(Effort):
        raise unknown_name("effort", str(effort), get_args(Effort))
    return cast(Effort, effort)


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise OptionError(f"level must be between 0 and 1, got {level}")


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


def _is_own(compute: Callable[..., Any]) -> bool:
    """Return whether a metric's function is the user's."""
    return str(compute.__module__).partition(".")[0] not in ("textassay", "textassay_lab")


def _check_bounds(name: str, bounds: object) -> None:
    numbers = bounds if isinstance(bounds, tuple | list) else ()
    if len(numbers) != 2 or not all(isinstance(each, int | float) for each in numbers) or not numbers[0] < numbers[1]:
        raise OptionError(
            f"the metric '{name}': bounds must be its smallest and largest value, such as (0, 1), got {bounds!r}"
        )


def _check_value(declaration: Declaration, value: float) -> None:
    low, high = declaration.bounds
    if _is_own(declaration.compute) and not math.isnan(value) and not low <= value <= high:
        raise InputError(
            f"the metric '{declaration.name}' gave {value:g}, outside its bounds of {low:g} and {high:g}: declare "
            "others, or none"
        )


@contextmanager
def _named(declaration: Declaration) -> Iterator[None]:
    """Name a metric of the user's own in what it raises; what ours raise is a fault of the program."""
    try:
        yield
    except TextassayError:
        raise
    except Exception as error:
        if not _is_own(declaration.compute):
            raise
        words = f"{type(error).__name__}: {error}".rstrip(": ")
        raise InputError(f"the metric '{declaration.name}' raised {words}") from error


def _as_computed(result: Any, generated: Corpus) -> Computed:
    if isinstance(result, Computed):
        return result
    scores = np.asarray(result, dtype=np.float64)
    if scores.ndim == 0:
        return Computed(float(scores))
    if scores.shape != (len(generated),):
        raise OptionError(
            f"a metric returns a number or one for each of the {len(generated)} generated texts, got {scores.shape}"
        )
    value = math.fsum(scores) / len(scores)
    terms = {"generated": text_terms(scores, generated.groups)}
    return Computed(value, terms=terms, method="t: variance over generated sentences", generated_scores=scores)


def _spelt(setting: Setting, value: Any) -> str:
    """Return how a metric's name shows the value of a setting."""
    if setting.names_encoder and value not in (None, "tf-idf"):
        return resolve_encoder(value).name
    if isinstance(value, Corpus):
        return value.fingerprint[:8]
    if isinstance(value, float):
        return f"{value:g}"
    return str(getattr(value, "name", value))


def _identity(setting: Setting, value: Any) -> str:
    """Return what tells the value of a setting from all others."""
    if isinstance(value, Corpus):
        return value.fingerprint
    if value is None or isinstance(value, str | int | float) or setting.names_encoder:
        return _spelt(setting, value)
    if isinstance(value, list | tuple):  # columns
        return str([np.asarray(column).tolist() for column in value])
    return f"{getattr(value, 'name', type(value).__name__)} {getattr(value, 'features', '')}".strip()


def _code_hash(compute: Callable[..., Any]) -> str:
    """Return a hash of the source of a user's metric, so that a stored estimate goes with the code that made it."""
    try:
        source = inspect.getsource(compute)
    except OSError:  # typed into a prompt
        source = repr((compute.__code__.co_code, compute.__code__.co_consts))
    return blake2b(source.encode(), digest_size=8).hexdigest()


def _signature(declaration: Declaration) -> inspect.Signature:
    """Return the signature users see: the function's own, with `level`, `seed` and how texts are prepared."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = inspect.signature(declaration.compute).parameters
    texts = [own[side].replace(annotation=Texts) for side in ("generated", "real") if side in own]
    settings = [
        each.replace(annotation=Texts if name in declaration.texts else declaration.types[name])
        for name, each in declaration.parameters.items()
    ]
    if not declaration.looks_at_real:
        texts[1] = texts[1].replace(default=None)
    usual = [
        inspect.Parameter("level", keyword, default=0.95, annotation=float),
        inspect.Parameter("seed", keyword, default=0, annotation=int),
        inspect.Parameter("independent", keyword, default=False, annotation=bool),
        inspect.Parameter("text", inspect.Parameter.VAR_KEYWORD, annotation=Unpack[TextOptions]),
    ]
    return inspect.Signature([*texts, *settings, *usual], return_annotation=Estimate)


class Shared:
    """Results of `compute_once`, by function and arguments; threads may use one together."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry] = {}
        self._lock = Lock()

    def get(self, function: Callable[..., T], args: tuple[object, ...], settings: dict[str, object]) -> T:
        """Return ``function(*args, **settings)``, computed at the first call."""
        arguments = (*args, *settings.values())
        key = (function, tuple(settings), *map(_key, arguments))
        with self._lock:
            entry = self._entries.setdefault(key, _Entry(arguments))
        with entry.lock:
            if not entry.is_done:
                entry.result, entry.is_done = function(*args, **settings), True
        result: T = entry.result
        return result

    def forget(self, corpus: Corpus) -> None:
        """Drop everything that was computed from `corpus`, or from a part of it that was computed from it."""
        with self._lock:
            gone = {corpus.fingerprint}
            gone |= {part for entry in self._entries.values() if entry.is_from(gone) and (part := entry.part)}
            self._entries = {key: entry for key, entry in self._entries.items() if not entry.is_from(gone)}

    def __reduce__(self) -> tuple[type["Shared"], tuple[()]]:
        """Return what makes an empty one: in another process, results are computed anew."""
        return Shared, ()

    @contextmanager
    def used(self) -> Iterator[None]:
        """Let `compute_once` keep its results here."""
        token = _ACTIVE.set(self)
        try:
            yield
        finally:
            _ACTIVE.reset(token)


class _Entry:
    def __init__(self, arguments: tuple[object, ...]) -> None:
        self.arguments = arguments  # kept alive, since keys may hold their addresses
        self.lock = Lock()
        self.is_done = False
        self.result: Any = None

    @property
    def part(self) -> str | None:
        return self.result.fingerprint if isinstance(self.result, Corpus) else None

    def is_from(self, fingerprints: Collection[str]) -> bool:
        return any(isinstance(each, Corpus) and each.fingerprint in fingerprints for each in self.arguments)


_ACTIVE: ContextVar[Shared | None] = ContextVar("textassay_shared", default=None)


def compute_once(function: Callable[P, T], *args: P.args, **settings: P.kwargs) -> T:
    """Return ``function(*args, **settings)``; inside ``with Shared().used()`` it is computed once for these arguments.

    Corpora are told apart by their texts, vocabularies and columns; a metric gets columns only if it reads them.
    """
    shared = _ACTIVE.get()
    return function(*args, **settings) if shared is None else shared.get(function, args, dict(settings))


def _key(value: object) -> Hashable:
    if isinstance(value, Corpus):
        return (value.fingerprint, id(value.vocabulary), value.columns_fingerprint)
    if isinstance(value, Encoder):
        return value.name
    if hasattr(value, "prob_real"):  # a discriminator
        return (getattr(value, "name", ""), getattr(value, "features", ""))
    return value if isinstance(value, Hashable) else id(value)
