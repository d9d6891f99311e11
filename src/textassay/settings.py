"""The settings of a job, each once: its name, default, line of help and range.

A job's settings are one frozen dataclass, which the library takes whole. A command inherits it, and `cli/adapter.py`
makes its fields options. Keywords are spelt on the public face only, which builds the dataclass and has checked them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from textassay.errors import OptionError
from textassay.execution.threads import MAX_WORKERS
from textassay.fields import Between, Check, Option, Parse

if TYPE_CHECKING:
    from textassay.corpus.corpus import TextOptions
    from textassay.metric.base import Effort as _Effort
    from textassay.metric.base import Metric
    from textassay.metric.catalog import MetricLike

    _Metrics = Sequence[MetricLike]
    _Margins = float | Mapping[MetricLike, float]
    _Encoder: TypeAlias = Any  # objects of the library, which has a keyword of its own type for each
    _Tokenizer: TypeAlias = Any
else:  # on the command line they are words
    _Effort = _Encoder = _Margins = _Metrics = _Tokenizer = str

TEXTS, MEASURING, RUNNING, OUTPUT = "Texts", "Measuring", "Running", "Output"  # the panels of help
FOLDS = 5


# Settings of several jobs
Tokenizer = Annotated[
    str | _Tokenizer,
    Option(
        "auto (whitespace; mixed for unspaced text), whitespace, words, mixed, segment, chars or 13a.", "NAME", TEXTS
    ),
    Check("textassay.corpus.tokenizer:check_tokenizer"),
]
Lowercase = Annotated[bool, Option("Lower-case all texts.", panel=TEXTS, show_default=False)]
Normalize = Annotated[
    bool, Option("Remove differences in case, quotes and spacing from all texts.", panel=TEXTS, show_default=False)
]
MaxTokens = Annotated[int | None, Option("Truncate all texts to N tokens.", "N", TEXTS), Between(1)]
Independent = Annotated[
    bool,
    Option("Treat texts as independent draws; by default this is tested.", panel=TEXTS, names=("--independent",)),
]
Metrics = Annotated[
    _Metrics | None,
    Option("Metrics, such as 'dd,bleu(order=4)'; all by default.", "LIST", MEASURING),
    Parse("textassay.metric.catalog:split_names"),
]
Effort = Annotated[
    _Effort,
    Option(
        "Effort of dd's classifiers: quick, default or max; 3 s, 20 s or 5 min for 20,000 sentences.", "HOW", MEASURING
    ),
    Check("textassay.metric.base:check_effort"),
]
Encoder = Annotated[
    str | _Encoder | None,
    Option(
        "Sentence embedding: lsa+lm (the default), lsa, minilm, a sentence-transformers model or openai:MODEL@URL; dd "
        "sees the vectors of the last three.",
        "NAME",
        MEASURING,
    ),
]
Prior = Annotated[
    str | None,
    Option("Prior knowledge of the language for dd: smollm2, pretrained:MODEL, english or auto.", "NAME"),
    Check("textassay.prior.catalog:check_prior"),
]
Level = Annotated[
    float,
    Option("Level of confidence intervals and tests.", "L", MEASURING),
    Check("textassay.metric.base:check_level"),
]
Device = Annotated[
    str,
    Option("Device for networks: auto, cpu, cuda, cuda:N or mps.", "D", RUNNING),
    Check("textassay.execution.threads:check_device"),
]
Workers = Annotated[
    int | None, Option("Number of threads; all processors by default.", "N", RUNNING), Between(1, MAX_WORKERS)
]
Seed = Annotated[int, Option("Random seed: the same seed gives the same numbers.", "N", RUNNING), Between(0)]


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """How texts are split into tokens."""

    tokenizer: Tokenizer = "auto"
    lowercase: Lowercase = False


@dataclass(frozen=True, kw_only=True)
class Reading(Tokens):
    """How texts are read."""

    normalize: Normalize = False
    max_tokens: MaxTokens = None
    independent: Independent = False

    @property
    def text(self) -> "TextOptions":
        return {
            "tokenizer": self.tokenizer,
            "lowercase": self.lowercase,
            "normalize": self.normalize,
            "max_tokens": self.max_tokens,
        }


@dataclass(frozen=True, kw_only=True)
class Computing:
    """How networks compute, on how many threads and where."""

    device: Device = "auto"
    workers: Workers = None

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Use the threads and the device inside the ``with`` block."""
        from textassay.execution.threads import default_workers, device, workers

        with workers(default_workers() if self.workers is None else self.workers), device(self.device):
            yield


@dataclass(frozen=True, kw_only=True)
class Measuring(Reading, Computing):
    """How generated text is drawn, and told from real text by dd."""

    draw: Annotated[
        int | None,
        Option("Number of texts to draw from each model; as many as real texts by default.", "N"),
        Between(2),
    ] = None
    no_log_probs: Annotated[
        bool,
        Option(
            "Do not use the log-probabilities of generators that are models.",
            names=("--no-log-probs",),
            show_default=False,
        ),
    ] = False
    effort: Effort = "default"
    prior: Prior = None
    folds: Annotated[int | None, Option("Folds of cross-fitting; 5 by default.", "K", MEASURING), Between(1)] = None
    level: Level = 0.95
    seed: Seed = 0

    @property
    def n_folds(self) -> int:
        return FOLDS if self.folds is None else self.folds

    def of_dd(self, **learnt_from: Any) -> "Metric":
        """Return the metric with these settings; for `learnt_from`, what it sees besides, see `metric.dd`."""
        from textassay.metric.discrepancy import dd

        settings: dict[str, Any] = {
            "effort": self.effort,
            "folds": self.n_folds,
            "level": self.level,
            "prior": self.prior,
        }
        return dd.declaration.with_settings(**settings, **learnt_from)


@dataclass(frozen=True, kw_only=True)
class Explaining(Measuring):
    """How it is explained what gives generators away."""

    unit: Annotated[str, Option("Unit of text: sentence, document, or auto (detected).", "UNIT")] = "auto"


@dataclass(frozen=True, kw_only=True)
class Comparing(Explaining):
    """How generators are compared by many metrics."""

    metrics: Metrics = None
    encoder: Encoder = None
    paper: Annotated[
        bool, Option("dd exactly as in its paper: one network, one split.", panel=MEASURING, show_default=False)
    ] = False
    explain: Annotated[bool, Option("Show what distinguishes each generator; takes a while.", panel=MEASURING)] = True
    equivalent: Annotated[
        _Margins | None,
        Option(
            "Is dd at most this? PASS, FAIL (status 1) or INCONCLUSIVE (3). Such as 0.1 or 'dd=0.1,bleu=0.02'.",
            "MARGIN",
            OUTPUT,
        ),
        Parse("textassay.comparison.equivalence:parse_margins"),
    ] = None

    def of_metrics(self, *, has_features: bool = False) -> dict[str, Any]:
        """Return the settings of whichever metrics have them; raise for those that cannot go together."""
        from textassay.embedding.store import resolve_encoder
        from textassay.metric.base import check_effort

        if self.paper and self.n_folds != FOLDS:
            raise OptionError(f"paper has one split: leave folds out, got {self.folds}")
        check_effort(self.effort)
        if self.prior is not None:
            if self.paper:
                raise OptionError("paper has no prior: leave one of them out")
            from textassay.prior.catalog import check_prior  # loads the classifiers

            check_prior(self.prior)
        if self.encoder is not None:
            resolve_encoder(self.encoder)
            if has_features and self.encoder != "given":
                raise OptionError("features and an encoder cannot be combined: leave one of them out")
        of_paper = {"discriminator": "cnn-paper", "folds": 1, "threshold": "half"}
        of_dd = {"folds": self.n_folds, **({} if self.prior is None else {"prior": self.prior})}
        encoder = self.encoder or self.encoder_name(has_features=has_features)
        return {"effort": self.effort, "encoder": encoder, "level": self.level, **(of_paper if self.paper else of_dd)}

    def encoder_name(self, *, has_features: bool) -> str:
        """Return the name of the encoder, or of that which is taken by default."""
        from textassay.embedding.store import DEFAULT_ENCODER

        if self.encoder is None:
            return "given" if has_features else DEFAULT_ENCODER
        return str(self.encoder) if isinstance(self.encoder, str | Path) else self.encoder.name

    def recorded(self, *, unit: str, has_features: bool) -> dict[str, Any]:
        """Return the settings that results name; some are left out at their default."""
        return {
            "effort": self.effort,
            "encoder": self.encoder_name(has_features=has_features),
            "folds": self.n_folds,
            "paper": self.paper,
            **({} if self.prior is None else {"prior": self.prior}),
            **({"independent": True} if self.independent else {}),
            **({"unit": unit} if unit == "document" else {}),
        }
