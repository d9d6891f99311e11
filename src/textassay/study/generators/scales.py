"""Scales of the study of generators: texts, networks, rounds, samples.

``tiny`` shows in minutes that everything works. ``paper`` draws as many sentences as the paper and has the networks of
the papers, as far as they say; it wants a GPU and more text. ``laptop`` trains for 37 minutes of one core. Measured of
its trainings (width 128, 3,427 words, 9 tokens a sentence), in seconds of a processor:

- of people: LSTMs of all shares of the text 158, scheduled sampling 129, conditional 167, SeqGAN and RankGAN with what
  goes before 154, LeakGAN 231, CoT 114, ScratchGAN 272: 1,226;
- of the oracle, with half the text: the oracle 150, LSTMs 76, scheduled sampling 63, conditional 82, SeqGAN and RankGAN
  114, LeakGAN 156, CoT 87, ScratchGAN 265: 993.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from textassay.adversarial import (
    COT_PRESETS,
    LEAKGAN_PRESETS,
    RANKGAN_PRESETS,
    SCRATCHGAN_PRESETS,
    SEQGAN_PRESETS,
    CotRecipe,
    LeakGanRecipe,
    RankGanRecipe,
    ScratchGanRecipe,
    SeqGanRecipe,
)
from textassay.study.generators.results import GENERATORS, ORACLE, REAL
from textassay.study.presets import Network


@dataclass(frozen=True)
class Recipes:
    """How generators of a world are trained."""

    lstm: Network  # The word LSTM, of all shares of text
    scheduled: Network  # Scheduled sampling
    conditional: Network  # Att2Seq, C2S and gC2S
    before_rounds: Network  # The LSTM that SeqGAN and RankGAN go on from
    # Their rounds
    seqgan: SeqGanRecipe
    rankgan: RankGanRecipe
    # Settings of the generator, and how both sides learn
    leakgan: tuple[Network, LeakGanRecipe]
    cot: tuple[Network, CotRecipe]
    scratchgan: tuple[Network, ScratchGanRecipe]


@dataclass(frozen=True)
class WorldScale:
    """Sizes of a world."""

    # Sentences that generators learn from, and that each draws
    n_train: int
    n_drawn: int
    context_count: int  # How often a category of a context must stand in the training text to be one of its own
    recipes: Recipes  # How its generators are trained


@dataclass(frozen=True)
class GeneratorsScale:
    """Sizes of the study."""

    name: str  # Such as ``laptop``
    # The two worlds
    of_people: WorldScale
    of_oracle: WorldScale
    n_valid: int  # Sentences that choose epochs
    # How often a word must stand in the training text (of the oracle, in that world) to be in the vocabulary
    min_count: int
    # The oracle, and the sentences that it learns from
    original: Network
    n_original: int
    n_exact: int  # Sentences that each side draws for the exact discrepancy
    network_judges: bool  # Whether the three networks are among the classifiers
    partitions: int = 1  # How often texts are dealt to classifiers anew
    other_order: int = 3  # Of the n-gram model of news
    # At which conditional generators draw. The paper does not say; lower ones repeat themselves more, which would
    # explain what it prints of C2S.
    temperature: float = 1.0
    # In which networks learn by maximum likelihood; see `Recipe`. All draw and are measured in float32.
    precision: str = "auto"

    @property
    def worlds(self) -> dict[str, WorldScale]:
        """By name."""
        return {REAL: self.of_people, ORACLE: self.of_oracle}

    def n_real(self, world: WorldScale) -> int:
        """Return the number of unseen real sentences for evaluation: as many as all generators draw."""
        return world.n_drawn * len(GENERATORS)


_SEQGAN, _RANKGAN = SEQGAN_PRESETS["tiny"][1], RANKGAN_PRESETS["tiny"][1]
_LEAKGAN, _COT, _SCRATCHGAN = LEAKGAN_PRESETS["tiny"], COT_PRESETS["tiny"], SCRATCHGAN_PRESETS["tiny"]


def _recipes(
    n_train: int, width: int, epochs: int, *, rounds: int, leakgan: tuple[int, int], cot: int, scratchgan: int
) -> Recipes:
    """Return recipes of one width: so many epochs over real text, then so many rounds.

    `leakgan` are its cycles before the rounds, each two epochs, and passes over the text in them; `cot` and
    `scratchgan` their rounds.
    """
    lstm = {"width": width, "dropout": 0.2, "batch_size": 64, "max_epochs": epochs, "learning_rate": 5e-3}
    half = max(epochs * n_train // (2 * 64), 1)  # steps after which every second word is the model's own
    rate = 1e-2 * min(1.0, 32 / width)  # at 1e-2, 60 rounds moved one of width 128 from 0.69 to 0.92 of the oracle
    first = max(2, rounds // 10)
    return Recipes(
        lstm=Network("small", lstm),
        scheduled=Network("small", {**lstm, "mixing": f"linear(k=1,c={0.5 / half:.6f},least=0.5)"}),
        conditional=Network("small", {**lstm, "context_width": 32}),
        before_rounds=Network("small", lstm),
        seqgan=replace(_SEQGAN, learning_rate=rate, rounds=rounds, pretraining_rounds=first),
        rankgan=replace(_RANKGAN, learning_rate=rate / 3, rounds=rounds, pretraining_rounds=first),
        leakgan=(
            Network("tiny", _LEAKGAN[0]),
            replace(_LEAKGAN[1], rounds=rounds, cycles=leakgan[0], mle_every=max(1, rounds // leakgan[1])),
        ),
        cot=(Network("tiny", {**_COT[0], "width": width}), replace(_COT[1], rounds=cot)),
        scratchgan=(
            Network("tiny", {**_SCRATCHGAN[0], "width": width, "dimension": 32, "fixed": 32}),
            # at the preset's 3e-3, made for a width of 32, a width of 128 writes one word after four rounds
            replace(_SCRATCHGAN[1], rounds=scratchgan, learning_rate=1e-3),
        ),
    )


def _of_paper() -> Recipes:
    return Recipes(
        lstm=Network("reviews"),
        scheduled=Network("paper"),
        conditional=Network("paper"),
        # SeqGAN's own, but for a width of 128, as for real text
        before_rounds=Network(
            "tiny", {"width": 128, "batch_size": 64, "max_epochs": 120, "learning_rate": 1e-2, "schedule": "constant"}
        ),
        seqgan=SEQGAN_PRESETS["paper"][1],
        rankgan=RANKGAN_PRESETS["paper"][1],
        leakgan=(Network("paper-40", LEAKGAN_PRESETS["paper-40"][0]), LEAKGAN_PRESETS["paper-40"][1]),
        cot=(Network("paper", COT_PRESETS["paper"][0]), COT_PRESETS["paper"][1]),
        scratchgan=(Network("paper", SCRATCHGAN_PRESETS["paper"][0]), SCRATCHGAN_PRESETS["paper"][1]),
    )


_TINY = _recipes(3000, 32, 4, rounds=4, leakgan=(1, 1), cot=4, scratchgan=4)

GENERATORS_SCALES: Mapping[str, GeneratorsScale] = {
    "tiny": GeneratorsScale(
        name="tiny",
        of_people=WorldScale(n_train=3000, n_drawn=200, context_count=30, recipes=_TINY),
        of_oracle=WorldScale(n_train=3000, n_drawn=200, context_count=30, recipes=_TINY),
        n_valid=300,
        min_count=3,
        original=Network("small", {"width": 64, "max_epochs": 4}),
        n_original=3000,
        n_exact=300,
        network_judges=False,
    ),
    "laptop": GeneratorsScale(
        name="laptop",
        of_people=WorldScale(
            n_train=30_000,
            n_drawn=1200,
            context_count=100,
            recipes=_recipes(30_000, 128, 5, rounds=60, leakgan=(2, 1), cot=40, scratchgan=70),
        ),
        of_oracle=WorldScale(
            n_train=15_000,
            n_drawn=1000,
            context_count=150,
            recipes=_recipes(15_000, 128, 5, rounds=60, leakgan=(2, 1), cot=30, scratchgan=60),
        ),
        n_valid=2000,
        min_count=4,
        original=Network("small", {"max_epochs": 6}),
        n_original=30_000,
        n_exact=1000,
        network_judges=True,
    ),
    "paper": GeneratorsScale(
        name="paper",
        of_people=WorldScale(n_train=300_000, n_drawn=32_500, context_count=100, recipes=_of_paper()),
        of_oracle=WorldScale(n_train=300_000, n_drawn=32_500, context_count=3000, recipes=_of_paper()),
        n_valid=10_000,
        min_count=5,
        original=Network("paper"),
        n_original=300_000,
        n_exact=10_000,
        network_judges=True,
        partitions=3,
        other_order=5,
    ),
}
