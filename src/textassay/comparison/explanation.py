"""An explanation of what gives a generator away, and its parts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from textassay.display import Displayed, columns_from

HALF = 0.5
FLAT = 0.02  # a smaller increase of dd by the last doubling of the sample counts as levelled off


@dataclass(frozen=True)
class DiscriminativeNgram:
    """An n-gram that occurs in more texts of one side than of the other."""

    ngram: str  # Tokens joined by spaces; ``<sos>`` and ``<eos>`` are the ends of a text
    order: int  # Number of tokens
    # Texts that contain it
    n_real: int
    n_generated: int
    # The same as fractions of the texts of each side
    share_real: float
    share_generated: float
    p_adjusted: float  # P-value of the difference, adjusted over all n-grams tested


@dataclass(frozen=True)
class StructuralDifference:
    """A trait of documents that one side has in more of its texts, or more of.

    `kind` ``share``: `real` and `generated` are the fractions of texts with the trait; ``mean``: its mean over texts.
    """

    trait: str  # Of a share, what such a text does: "begins with 'Certainly'"; of a mean, what is measured
    kind: str
    real: float
    generated: float
    # Interval of the difference, generated less real
    low: float
    high: float
    p_adjusted: float  # P-value of the difference, adjusted over all traits tested


@dataclass(frozen=True)
class LengthBin:
    """dd among the texts of `shortest` to `longest` tokens; value and interval are None where there are too few."""

    shortest: int
    longest: int
    n_real: int
    n_generated: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class PositionBin:
    """Where in a text the decision falls: `begin` to `end` as fractions of its length.

    `evidence_real` and `evidence_generated` are the mean log-odds of being real (nats a text) that the tokens there
    add, in real and in generated texts; their difference is the evidence in this part of the text.
    """

    begin: float
    end: float
    evidence_real: float
    evidence_generated: float


@dataclass(frozen=True)
class CurvePoint:
    """dd with `n_real` real and `n_generated` generated texts."""

    n_real: int
    n_generated: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PrefixPoint:
    """dd of the first `n_tokens` tokens of all texts."""

    n_tokens: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Example:
    """A text and its probability of being real."""

    text: str
    score: float


@dataclass(frozen=True)
class Explanation(Displayed, document="textassay.comparison.explanation_document:explanation_document"):
    """What gives one generator away.

    Attributes
    ----------
    generator
        Whose text.
    value
        dd of the classifier that explains.
    more_generated, more_real
        N-grams more frequent in generated, and in real, texts; the most discriminative first.
    n_tested
        Number of n-grams tested.
    level
        Confidence level; 1 - level is the false discovery rate among the n-grams.
    lengths, positions
        Where the decision falls.
    most_generated, most_lifelike, mistaken
        The generated texts that look most generated, those that look most real, and the real texts that look most
        generated, with their scores; each text once.
    curve
        dd at growing sample sizes, the last at full size.
    rising
        Whether dd was still rising over the last doubling of the sample: True, False (it had levelled off), or None
        (cannot be said); see `textassay.comparison.learning_curve`.
    rise, rise_low, rise_high
        By how much the last doubling raised dd, with its interval; None where there was no smaller sample.
    notes
        Notes for the reader, one sentence each.
    prefixes
        dd of the first tokens of every text, by their number; see `textassay.comparison.prefix_curve`.
    half_length, half_low, half_high
        Number of tokens at which that reaches one half, with its interval; None beyond the curve.
    boilerplate
        Phrases of any length in many generated and few real texts, the most frequent first; see
        `textassay.comparison.discriminative_ngrams`. Their p-values are those of their own counts.
    structure
        Of documents: what differs in their structure, the clearest first; see
        `textassay.comparison.structural_differences`.
    """

    generator: str
    value: float
    more_generated: tuple[DiscriminativeNgram, ...]
    more_real: tuple[DiscriminativeNgram, ...]
    n_tested: int
    level: float
    lengths: tuple[LengthBin, ...]
    positions: tuple[PositionBin, ...]
    most_generated: tuple[Example, ...]
    most_lifelike: tuple[Example, ...]
    mistaken: tuple[Example, ...]
    curve: tuple[CurvePoint, ...]
    rising: bool | None
    rise: float | None = None
    rise_low: float | None = None
    rise_high: float | None = None
    notes: tuple[str, ...] = ()
    prefixes: tuple[PrefixPoint, ...] = ()
    half_length: float | None = None
    half_low: float | None = None
    half_high: float | None = None
    boilerplate: tuple[DiscriminativeNgram, ...] = ()
    structure: tuple[StructuralDifference, ...] = ()

    @property
    def overused(self) -> tuple[DiscriminativeNgram, ...]:
        """Boilerplate, then the n-grams of `more_generated` that are not part of it."""
        phrases = [f" {phrase.ngram} " for phrase in self.boilerplate]
        others = [ngram for ngram in self.more_generated if not any(f" {ngram.ngram} " in phrase for phrase in phrases)]
        return (*self.boilerplate, *others)

    @property
    def half_bin(self) -> LengthBin | None:
        """The bin of the shortest texts with a dd of at least one half, if any."""
        return next((part for part in self.lengths if part.value is not None and part.value >= HALF), None)

    def _columns(self) -> dict[str, list[Any]]:
        sides = (("generated", self.overused), ("real", self.more_real))
        rows = [{"side": side, **vars(phrase)} for side, phrases in sides for phrase in phrases]
        return columns_from(rows, ["side", *DiscriminativeNgram.__dataclass_fields__])

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        fields = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        if not self.structure:
            del fields["structure"]  # sentences have none
        return fields

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Explanation":
        """Return the explanation that `to_dict` gave as `data`."""
        parts = {
            "more_generated": DiscriminativeNgram,
            "more_real": DiscriminativeNgram,
            "boilerplate": DiscriminativeNgram,
            "lengths": LengthBin,
            "positions": PositionBin,
            "most_generated": Example,
            "most_lifelike": Example,
            "mistaken": Example,
            "curve": CurvePoint,
            "prefixes": PrefixPoint,
            "structure": StructuralDifference,
        }
        fields: dict[str, Any] = {
            key: tuple(parts[key](**part) for part in value) if key in parts else value for key, value in data.items()
        }
        return cls(**{**fields, "notes": tuple(data["notes"])})
