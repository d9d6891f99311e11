"""What the study of exposure bias measures: names, models under test, and results.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4.1 to 4.4.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.estimate import Estimate, Interval
from textassay.ngram.language_model import LanguageModel
from textassay_lab.exposure.bleu import BleuRun
from textassay_lab.exposure.discrepancy import EbDd
from textassay_lab.exposure.runs import PrefixRun
from textassay_lab.exposure.switching import SwitchedSample
from textassay_lab.exposure.translation import TranslationCurve
from textassay_lab.generator.position_unigram_model import PositionUnigram
from textassay_lab.generator.random_lstm import RandomLstm
from textassay_lab.generator.saved import save_model
from textassay_lab.generator.text_likelihood import Quantity
from textassay_lab.human.next_word_score import NextWordScore
from textassay_lab.papers.network_stages import MODEL, opened
from textassay_lab.papers.stages import Stage, Work

TEXTS = ("wikitext2", "emnlp_news", "yelp")
BLEU_MODELS = ("LSTM", "Transformer-XL", "position unigram")
SYNTHETIC_MODELS = ("LSTM-512", "LSTM-32")  # trained on samples of the data model
RANDOM_ORACLE = "LSTM-32 (random oracle)"  # trained on samples of a random LSTM
DATA_MODEL, RANDOM_LSTM = "data model", "random LSTM"
SCRATCHGAN, COT, RANKGAN = "ScratchGAN", "CoT", "RankGAN"
OTHERS: Mapping[str, str] = {  # not trained by maximum likelihood alone, and the model that was
    SCRATCHGAN: "LSTM-512",
    COT: "LSTM-32",
    RANKGAN: RANDOM_ORACLE,
}
TEST_SET, FRESH_SAMPLES = "EMNLP test set", "samples of the data model"
TRANSLATION = "multi30k"


@dataclass(frozen=True)
class TranslationResults:
    """Results on translation.

    P_D is a translation model trained on the pairs; the model under test is trained on samples of P_D for their
    sources, and the reference of a held-back source is another sample of P_D: its next words are known exactly.
    """

    bleu: Estimate  # Of the model trained on pairs, P_D, on the test set
    curves: Mapping[str, TranslationCurve]  # Distance to CGD and EB-C of the model under test, on held-back sources
    # Of P_D, for the first sentences of the test set: source, reference, then each of
    # `textassay_lab.generator.translation_prefixes.PREFIX_MODES`: what was forced, and what beam search made after it
    samples: tuple[SwitchedSample, ...]


@dataclass(frozen=True)
class SimulatedTask:
    """What the next-word task gave back of raters of known skill, after prefixes of one length."""

    # CGD after prefixes of the data and of the model that the raters were made with
    known: tuple[float, float]
    score: NextWordScore
    n_pages: int
    foreseen: float  # Share of texts of the data that go on with the model's most probable word
    items: tuple[SwitchedSample, ...]  # Lines of the first item of the data on the pages, then of the model

    @property
    def known_eb_c(self) -> float:
        """The EB-C that the raters were made with."""
        return self.known[1] / self.known[0]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "SimulatedTask":
        """Return what a stage kept."""
        score, items = NextWordScore.from_dict(data["score"]), tuple(SwitchedSample(**line) for line in data["items"])
        after_data, after_own = data["known"]
        return cls((after_data, after_own), score, data["pages"], data["foreseen"], items)


@dataclass(frozen=True)
class ExposureResults:
    """All measurements; those of missing texts are left out of the mappings."""

    # Text (of `TEXTS`) to model (of `BLEU_MODELS`; the Transformer-XL on ``wikitext2`` alone) to runs, each with the
    # kinds ``data``, ``model``, ``shuffled`` and ``random``
    bleu: Mapping[str, Mapping[str, tuple[BleuRun, ...]]]
    # Model to kind of prefixes (``data``, ``model``, ``corrupted:RATE``, ``shuffled``, ``random``) to runs, as many of
    # each kind, with lengths 0, 1, 2, ... . `SYNTHETIC_MODELS` against the data model, `RANDOM_ORACLE` against the
    # random LSTM. ``corrupted`` of LSTM-512 alone.
    synthetic: Mapping[str, Mapping[str, tuple[PrefixRun, ...]]]
    # Table 7: `DATA_MODEL`, `SYNTHETIC_MODELS`, `SCRATCHGAN` and `COT` to `TEST_SET` and `FRESH_SAMPLES`;
    # `RANDOM_ORACLE` and `RANKGAN` to `FRESH_SAMPLES`, which are the random LSTM's there
    perplexity: Mapping[str, Mapping[str, Quantity]]
    # Text to model, as in `bleu`, to its perplexity on the text that prefixes and references come from
    held_out_perplexity: Mapping[str, Mapping[str, Quantity]]
    eb_dd: Mapping[str, EbDd]  # Title to what was found, such as ``LSTM-512 against the data model``
    translation: TranslationResults | None  # None without ``multi30k``
    switching: Mapping[str, tuple[SwitchedSample, ...]]  # Title, such as ``Transformer-XL on wikitext2``, to samples
    sizes: Mapping[str, Mapping[str, int]]  # Text or part to how much there is of what, such as ``train sentences``
    seconds: Mapping[str, float]  # Kind of stage to how long its stages took, one after the other
    settings: Mapping[str, Any]  # All that decides the numbers, JSON-ready
    missing: tuple[str, ...] = ()  # Texts that were not there: what needs them is not measured
    notes: tuple[str, ...] = ()  # What a reader must know, sentences; warnings of stages among them
    # Model of `OTHERS` to ``data`` and ``model`` to runs, as in `synthetic`
    others: Mapping[str, Mapping[str, tuple[PrefixRun, ...]]] = field(default_factory=dict)
    # `RANDOM_LSTM`, `RANDOM_ORACLE` and `RANKGAN` to the nats per token of what they draw under the random LSTM
    oracle_costs: Mapping[str, Quantity] = field(default_factory=dict)
    # Model of `OTHERS` to why its training ended early; those that did not are left out
    stopped: Mapping[str, str] = field(default_factory=dict)
    # Task of `NEXT_WORD` to prefix length to what simulated raters gave back
    next_word: Mapping[str, Mapping[int, SimulatedTask]] = field(default_factory=dict)


BLEU_KINDS = ("model", "shuffled", "random")  # beside those of data


@dataclass(frozen=True)
class Subject:
    """A fitted model under test."""

    title: str  # its name in the study
    stage: Stage | None = None  # the stage that trained it; None for a position unigram
    counted: Corpus | None = field(default=None, repr=False)  # training text of a position unigram
    precision: str = "float32"

    @property
    def inputs(self) -> tuple[Stage, ...]:
        """The stages it depends on."""
        return () if self.stage is None else (self.stage,)

    @property
    def settings(self) -> dict[str, Any]:
        """Its settings, beside `inputs`."""
        counted = {} if self.counted is None else {"counted": self.counted.fingerprint}
        return {"model": self.title, "precision": self.precision, **counted}

    def open(self, work: Work) -> LanguageModel:
        """Return the fitted model."""
        if self.stage is not None:
            return opened(work, self.stage, precision=self.precision)
        assert self.counted is not None
        return PositionUnigram().fit(self.counted)


def random_oracle(title: str, *, seed: int) -> tuple[Stage, TextForm]:
    """Return the stage that keeps a random LSTM, and the form of what it writes."""
    model = RandomLstm(seed=seed)

    def run(work: Work) -> dict[str, Any]:
        save_model(model, work.folder / MODEL, form=model.form)
        return {"model": model.name}

    return Stage("train", title, {"model": model.settings}, run), model.form


def quantity_from_dict(data: Mapping[str, Any]) -> Quantity:
    """Return the quantity that a stage kept as `data`."""
    interval = None if data["interval"] is None else Interval(**data["interval"])
    return Quantity(math.inf if data["value"] is None else data["value"], interval)


def quantity_to_dict(quantity: Quantity) -> dict[str, Any]:
    """Return what a stage keeps of a quantity."""
    return {
        "value": quantity.value if math.isfinite(quantity.value) else None,
        "interval": None if quantity.interval is None else dict(quantity.interval.__dict__),
    }
