"""Names, texts and stages that both halves of the study ``generators`` share.

There are two worlds, with the same generators. In `REAL` they are trained on human text; in `ORACLE` on samples of a
language model, so that the distance of each from the truth is known. The kinds of stages are ``train-WORLD``,
``draw-WORLD`` and ``exact-WORLD``; evaluation adds its own.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, sections 2 and 3.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from textassay.corpus import TextForm
from textassay.study.network_stages import Part
from textassay.study.stages import Stage

REAL, ORACLE = "real", "oracle"
WORLDS = (REAL, ORACLE)
FLOOR = "real text (floor)"
OTHER_DOMAIN = "other domain"  # in the place of Google LM
DRAWN = "drawn"  # the file, in the folder of a stage ``draw``, of what was drawn
PAPER_NAMES: Mapping[str, str] = {  # of the study to that of `published_judges`
    **{name: name for name in ("Word LSTM 1.0", "Word LSTM 0.7", "Word LSTM 0.5", "Scheduled Sampling")},
    OTHER_DOMAIN: "Google LM",
    **{name: name for name in ("Att2Seq", "C2S", "gC2S", "MLE SeqGAN", "SeqGAN", "RankGAN", "LeakGAN")},
}
LESS_TEXT: Mapping[str, float] = {  # share of the training text; the word LSTM itself has all of it
    "LSTM 80 %": 0.8,
    "LSTM 60 %": 0.6,
    "LSTM 40 %": 0.4,
    "LSTM 20 %": 0.2,
}
BEYOND = ("CoT", "ScratchGAN", "bigram", *LESS_TEXT)
GENERATORS = (*PAPER_NAMES, *BEYOND)  # in the order of tables; a world may lack `OTHER_DOMAIN`


@dataclass(frozen=True)
class WorldTexts:
    """The text of a world, all in one form; no two parts share a line of the file, or a draw."""

    name: str  # One of `WORLDS`
    # How text is written, and tokens of the longest sentence there can be
    form: TextForm
    longest: int
    # What generators learn from, and what chooses their epochs
    train: Part
    valid: Part
    real: Part  # What no generator saw: the real side of what judges
    # As many sentences as each generator draws, seen by none: they stand for a generator that cannot be bettered
    floor: Part
    contexts: Part  # As many, seen by none: what conditional generators answer to
    sizes: Mapping[str, int]  # Part to its number of sentences


@dataclass(frozen=True)
class Generated:
    """The stages of one generator."""

    # Its result: ``model`` (its name), ``trained_as`` (the first generator that is this model), ``n_parameters``,
    # ``seconds`` (of a processor), ``n_seen`` (real sentences it learnt from, each as often as it was shown),
    # ``stopped`` (why training ended early, else None). Several generators may be one model at several temperatures.
    trained: Stage
    # Keeps `DRAWN`, as many sentences as all others draw. Its result: ``n``, ``seconds`` (of a processor),
    # ``unk_rate``, ``cut_share`` (of sentences as long as the longest), ``mean_length`` and ``temperature``.
    drawn: Stage
    # How far it is from the truth, by both models' probabilities; None where that is not known. Its result is that of
    # `textassay.meta_evaluation.model_discrepancy.ModelDiscrepancy.to_dict` (``discrepancy`` is the total variation)
    # with ``jensen_shannon`` beside, in bits: each of these has ``value``, ``low`` and ``high``.
    exact: Stage | None = None

    @property
    def part(self) -> Part:
        """What it drew."""
        return Part(stage=self.drawn, file=DRAWN)

    @property
    def targets(self) -> tuple[Stage, ...]:
        """Its last stages."""
        return (self.drawn,) if self.exact is None else (self.drawn, self.exact)


@dataclass(frozen=True)
class World:
    """A world."""

    texts: WorldTexts  # Its text
    # Generator to its stages, in the order of `GENERATORS`; `FLOOR` is not among them: it is `texts.floor`
    generated: Mapping[str, Generated]
    # Generator to the share of the training text it learnt from, of those that differ in nothing else
    volume: Mapping[str, float]
    n: int  # Sentences that each generator draws

    @property
    def name(self) -> str:
        """One of `WORLDS`."""
        return self.texts.name

    @property
    def parts(self) -> dict[str, Part]:
        """What is judged: `FLOOR`, then every generator's sentences."""
        return {FLOOR: self.texts.floor, **{name: one.part for name, one in self.generated.items()}}

    @property
    def targets(self) -> list[Stage]:
        """All that has to be computed for what this class promises."""
        return [stage for one in self.generated.values() for stage in one.targets]


@dataclass(frozen=True)
class TrainingCost:
    """What a generator costs."""

    trained_as: str  # The generator whose model it is; itself, mostly
    seconds: float  # Of a processor, to train it; with what was trained before, which others may share
    n_seen: int  # Real sentences it learnt from, each as often as it was shown
    n_parameters: int  # Numbers it learnt
    seconds_per_1000: float  # Of a processor, to draw as many sentences


def stage_kind(what: str, world: str) -> str:
    """Return the kind of a stage, such as ``train-real``."""
    return f"{what}-{world}"


def generated_cost(trained: Mapping[str, Any], drawn: Mapping[str, Any]) -> TrainingCost:
    """Return the cost that the results of `Generated.trained` and `Generated.drawn` tell of."""
    return TrainingCost(
        trained["trained_as"],
        trained["seconds"],
        trained["n_seen"],
        trained["n_parameters"],
        1000 * drawn["seconds"] / drawn["n"],
    )
