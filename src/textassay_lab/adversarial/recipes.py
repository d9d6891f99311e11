"""Recipes of adversarial training and their presets: sizes, rates, numbers of rounds.

They stand apart from the systems, so that the help of ``textassay train`` need not load PyTorch. A preset is the
settings of the generator's network and the recipe of the rounds.

Sources, each with its public code: Yu et al., "SeqGAN: Sequence Generative Adversarial Nets with Policy Gradient", AAAI
2017; Lin et al., "Adversarial Ranking for Language Generation", NeurIPS 2017; Guo et al., "Long Text Generation via
Adversarial Training with Leaked Information", AAAI 2018; Lu et al., "CoT: Cooperative Training for Generative Modeling
of Discrete Data", ICML 2019; de Masson d'Autume et al., "Training Language GANs from Scratch", NeurIPS 2019; Press et
al., "Language Generation with Recurrent Generative Adversarial Networks without Pre-training", 2017. ``paper`` has
their numbers; the other presets are ours, ``tiny`` to try things out.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from textassay.errors import OptionError, check_least, check_positive, check_share
from textassay_lab.training.recipe import Recipe

Presets = Mapping[str, tuple[Mapping[str, Any], Any]]

# Of the discriminator: window in words to number of filters.
FILTERS: Mapping[int, int] = MappingProxyType(
    {1: 100, 2: 200, 3: 200, 4: 200, 5: 200, 6: 100, 7: 100, 8: 100, 9: 100, 10: 100, 15: 160, 20: 160}
)

Baseline = Literal["none", "leave-one-out"]


@dataclass(frozen=True)
class SeqGanRecipe:
    """How the two sides are trained, after the generator has learnt from real text."""

    rounds: int = 200  # of the adversarial phase, at least 0; 0 leaves the generator unchanged (MLE SeqGAN)
    pretraining_rounds: int = 50  # of the discriminator, at least 0: each is one refresh
    # of an adversarial round: policy-gradient steps, then refreshes of the discriminator; at least 1 and 0
    generator_steps: int = 1
    refreshes: int = 5
    epochs: int = 3  # of a refresh, over its drawn and as many real sentences, at least 1
    n_negatives: int = 10_000  # sentences drawn for a refresh, at least 1
    # sentences of a generator step, and of a batch of the discriminator, half of them real; at least 2
    batch_size: int = 64
    n_roll_outs: int = 16  # after each action, at least 1
    # weight, in [0, 1), of the old roll-out policy in its moving average over rounds; 0: it is the generator
    roll_out_averaging: float = 0.8
    discount: float = 1.0  # of the reward, per later action, in (0, 1]
    # of the rewards: none, or the mean over the other sentences of the step at the same position
    baseline: Baseline = "none"
    # generator: learning rate of Adam, gradient norm for clipping
    learning_rate: float = 1e-2
    max_norm: float = 5.0
    judge_learning_rate: float = 1e-4  # of the discriminator
    # discriminator: embedding dimension, filters by window, dropout
    dimension: int = 64
    filters: Mapping[int, int] = field(default_factory=lambda: dict(FILTERS))
    dropout: float = 0.25
    n_validation: int = 10_000  # sentences drawn for the oracle to score, at least 1

    def __post_init__(self) -> None:
        check_least(self, ("rounds", "pretraining_rounds", "refreshes"), 0)
        check_least(self, ("generator_steps", "epochs", "n_negatives", "n_roll_outs", "dimension", "n_validation"), 1)
        check_least(self, ("batch_size",), 2)
        check_positive(self, ("learning_rate", "max_norm", "judge_learning_rate"))
        check_share(self, ("roll_out_averaging", "dropout"))
        allowed = {
            "discount": ("above 0 and at most 1", 0 < self.discount <= 1),
            "baseline": (" or ".join(get_args(Baseline)), self.baseline in get_args(Baseline)),
            "filters": ("windows of at least 1 with at least 1 filter", _positive(self.filters)),
        }
        for name, (what, holds) in allowed.items():
            if not holds:
                raise OptionError(f"{name} must be {what}, got {getattr(self, name)}")


def _positive(filters: Mapping[int, int]) -> bool:
    return len(filters) > 0 and all(window >= 1 and count >= 1 for window, count in filters.items())


# settings of the generator (`LstmModel` and its pre-training) and of the adversarial training
SEQGAN_PRESETS: Mapping[str, tuple[Mapping[str, Any], SeqGanRecipe]] = MappingProxyType(
    {
        "paper": (
            {
                "width": 32,
                "dropout": 0.0,
                "batch_size": 64,
                "recipe": Recipe(max_epochs=120, learning_rate=1e-2, max_norm=5.0),
            },
            SeqGanRecipe(),
        ),
        "characters": (  # Tevet et al., "Evaluating Text GANs as Language Models": the run that they call best
            {
                "width": 512,
                "embedding": 8,
                "dropout": 0.0,
                "batch_size": 64,
                "recipe": Recipe(max_epochs=480, learning_rate=1e-2, max_norm=5.0),
            },
            SeqGanRecipe(pretraining_rounds=200),
        ),
        "tiny": (
            {
                "width": 32,
                "dropout": 0.0,
                "batch_size": 64,
                "recipe": Recipe(max_epochs=4, learning_rate=1e-2, schedule="linear", max_norm=5.0),
            },
            SeqGanRecipe(
                rounds=30,
                pretraining_rounds=3,
                refreshes=1,
                epochs=1,
                n_negatives=1000,
                n_roll_outs=4,
                roll_out_averaging=0.0,
                baseline="leave-one-out",
                learning_rate=1e-2,  # 1e-3 had no visible effect
                judge_learning_rate=1e-3,
                dimension=32,
                filters={1: 50, 2: 50, 3: 50, 4: 50},
                n_validation=1000,
            ),
        ),
    }
)


@dataclass(frozen=True)
class RankGanRecipe(SeqGanRecipe):
    """How the two sides are trained; settings of the discriminator in `SeqGanRecipe` are the ranker's here.

    Departs from the paper: the baseline of each reward is the mean over the other samples of the step. Log-ranks are
    below 0 for every sentence, so without a baseline a step makes all samples less likely; the expected gradient is
    the same.
    """

    rounds: int = 50
    baseline: Baseline = "leave-one-out"
    n_references: int = 16  # size of the reference set, drawn anew for each batch, at least 1
    gamma: float = 1.0  # inverse temperature of the similarity in a rank, above 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, ("n_references",), 1)
        check_positive(self, ("gamma",))


def _like_seqgan(preset: str, **changes: Any) -> tuple[Mapping[str, Any], RankGanRecipe]:
    """Return a preset of SeqGAN with what differs here."""
    network, recipe = SEQGAN_PRESETS[preset]
    return network, RankGanRecipe(**{**asdict(recipe), **changes})


# settings of the generator (`LstmModel` and its pre-training) and of the adversarial training
RANKGAN_PRESETS: Mapping[str, tuple[Mapping[str, Any], RankGanRecipe]] = MappingProxyType(
    {
        # two windows more than SeqGAN's; how long they are the paper does not say
        "paper": _like_seqgan(
            "paper", rounds=50, baseline="leave-one-out", n_references=4, filters={**FILTERS, 30: 160, 40: 160}
        ),
        "tiny": _like_seqgan("tiny", gamma=5.0, learning_rate=3e-3),  # 1e-2 loses half the variety
    }
)


@dataclass(frozen=True)
class LeakGanRecipe:
    """How the two sides are trained."""

    rounds: int = 800  # of the adversarial phase, at least 0
    # pre-training, at least 0: a cycle is `pretraining_refreshes` of the discriminator, then `pretraining_epochs` of
    # the generator on real text
    cycles: int = 10
    pretraining_refreshes: int = 5
    pretraining_epochs: int = 8
    refreshes: int = 5  # of the discriminator in an adversarial round, at least 0
    epochs: int = 3  # of a refresh, over its drawn and as many real sentences, at least 1
    # adversarial rounds between two epochs of maximum likelihood, which prevent collapse, at least 1
    mle_every: int = 15
    n_negatives: int = 10_000  # sentences drawn for a refresh, at least 1
    # sentences of a generator step, and of a batch of the discriminator, half of them real; at least 2
    batch_size: int = 64
    n_roll_outs: int = 4  # after each action, at least 1
    rescaling: float = 12.0  # slope of the reward by its rank in the batch, above 0
    # manager and worker: learning rate of Adam, and gradient norm for clipping; above 0
    learning_rate: float = 1.5e-3
    max_norm: float = 5.0
    # discriminator: learning rate of Adam, above 0; twice the L2 penalty of its output layer, at least 0
    judge_learning_rate: float = 1e-4
    penalty: float = 0.2

    def __post_init__(self) -> None:
        check_least(
            self, ("rounds", "cycles", "pretraining_refreshes", "pretraining_epochs", "refreshes", "penalty"), 0
        )
        check_least(self, ("epochs", "mle_every", "n_negatives", "n_roll_outs"), 1)
        check_least(self, ("batch_size",), 2)
        check_positive(self, ("rescaling", "learning_rate", "max_norm", "judge_learning_rate"))


# settings of the generator (`LeakGanModel`) and the adversarial training
LEAKGAN_PRESETS: Mapping[str, tuple[Mapping[str, Any], LeakGanRecipe]] = MappingProxyType(
    {
        "paper": (
            {
                "width": 32,
                "goal": 16,
                "memory": 4,
                "dimension": 64,
                "filters": tuple(FILTERS.items()),
                "sharpness": 1.5,
            },
            LeakGanRecipe(),
        ),
        "paper-40": (  # of sentences of 40 tokens
            {
                "width": 32,
                "goal": 16,
                "memory": 4,
                "dimension": 64,
                "filters": tuple(FILTERS.items()),
                "sharpness": 1.5,
            },
            LeakGanRecipe(learning_rate=5e-4),
        ),
        "tiny": (
            {"width": 32, "goal": 16, "memory": 4, "dimension": 16, "filters": ((1, 16), (2, 16), (3, 16))},
            LeakGanRecipe(
                rounds=10,
                cycles=2,
                pretraining_refreshes=1,
                pretraining_epochs=2,
                refreshes=1,
                epochs=1,
                mle_every=5,
                n_negatives=500,
                n_roll_outs=2,
                learning_rate=3e-3,
                judge_learning_rate=1e-3,
            ),
        ),
    }
)


@dataclass(frozen=True)
class CotRecipe:
    """How the two sides are trained."""

    # rounds, at least 0, and steps of a round, at least 1: one update of the mediator, then one of the generator
    rounds: int = 200
    iterations: int = 500
    batch_size: int = 64  # drawn sentences of a step, and as many real ones for the mediator; at least 1
    # Adam of the generator: learning rate, above 0; decays, in [0, 1)
    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.95
    # mediator: learning rate, above 0; embedding and hidden dimension, layers, at least 1; dropout, in [0, 1)
    mediator_learning_rate: float = 3e-3
    mediator_width: int = 64
    mediator_layers: int = 1
    mediator_dropout: float = 0.5
    n_validation: int = 10_000  # sentences drawn for the oracle to score, at least 1

    def __post_init__(self) -> None:
        check_least(self, ("rounds",), 0)
        check_least(self, ("iterations", "batch_size", "mediator_width", "mediator_layers", "n_validation"), 1)
        check_positive(self, ("learning_rate", "mediator_learning_rate"))
        check_share(self, ("beta1", "beta2", "mediator_dropout"))


# settings of the generator (`LstmModel`) and of the cooperative training
COT_PRESETS: Mapping[str, tuple[Mapping[str, Any], CotRecipe]] = MappingProxyType(
    {
        "paper": ({"width": 32, "dropout": 0.0}, CotRecipe()),
        "tiny": (
            {"width": 32, "dropout": 0.0},
            CotRecipe(
                rounds=20, iterations=20, learning_rate=5e-3, mediator_learning_rate=1e-2, mediator_dropout=0.0,
                n_validation=1000,
            ),
        ),
    }
)  # fmt: skip


@dataclass(frozen=True)
class ScratchGanRecipe:
    """How the two sides are trained."""

    # rounds, at least 0, and steps of a round, at least 1: one update of the discriminator, then one of the generator
    rounds: int = 200
    iterations: int = 1000
    batch_size: int = 512  # sentences of each side in an update, at least 1; training needs large batches
    # of the generator and of the discriminator, above 0
    learning_rate: float = 9.59e-5
    judge_learning_rate: float = 9.38e-3
    # decays of Adam, in [0, 1), for both
    beta1: float = 0.5
    beta2: float = 0.999
    discount: float = 0.23  # of later rewards, per step, in [0, 1]
    baseline_decay: float = 0.08  # weight of the old baseline in the moving average of returns, in [0, 1)
    # discriminator: learnt embedding dimension and hidden dimension, at least 1
    dimension: int = 64
    width: int = 512
    # discriminator: dropout, in [0, 1); L2 penalty, at least 0
    dropout: float = 0.1
    penalty: float = 1e-6
    n_validation: int = 10_000  # sentences drawn for the oracle to score, at least 1

    def __post_init__(self) -> None:
        check_least(self, ("rounds", "penalty"), 0)
        check_least(self, ("iterations", "batch_size", "dimension", "width", "n_validation"), 1)
        check_positive(self, ("learning_rate", "judge_learning_rate"))
        check_share(self, ("beta1", "beta2", "baseline_decay", "dropout"))
        if not 0 <= self.discount <= 1:
            raise OptionError(f"discount must be at least 0 and at most 1, got {self.discount}")


# settings of the generator (`TiedLstm`) and of the adversarial training
SCRATCHGAN_PRESETS: Mapping[str, tuple[Mapping[str, Any], ScratchGanRecipe]] = MappingProxyType(
    {
        "paper": ({"width": 512, "layers": 2, "dimension": 64, "fixed": 300, "dropout": 0.0}, ScratchGanRecipe()),
        "tiny": (
            {"width": 32, "layers": 1, "dimension": 16, "fixed": 16, "dropout": 0.0},
            ScratchGanRecipe(
                rounds=20,
                iterations=25,
                batch_size=128,
                learning_rate=3e-3,
                judge_learning_rate=5e-3,
                dimension=16,
                width=32,
                n_validation=1000,
            ),
        ),
    }
)


@dataclass(frozen=True)
class Curriculum:
    """Lengths from 1 to `longest`, each for `rounds` rounds; both at least 1."""

    longest: int
    rounds: int

    def __post_init__(self) -> None:
        check_least(self, ("longest", "rounds"), 1)

    @property
    def n_rounds(self) -> int:
        """Rounds of all lengths."""
        return self.longest * self.rounds

    def length(self, number: int) -> int:
        """Return the length in round `number`, from 1."""
        return min(self.longest, 1 + (number - 1) // self.rounds)


@dataclass(frozen=True)
class WganRecipe:
    """How the two sides are trained."""

    length: int = 32  # tokens of the longest windows, the last of the curriculum, at least 1
    rounds: int = 1000  # rounds of each length, at least 1
    iterations: int = 15  # of a round, at least 1; each is `critic_updates`, then `generator_updates`
    critic_updates: int = 10
    generator_updates: int = 50
    batch_size: int = 64  # windows of a side in an update, at least 1
    critic_width: int = 512  # embedding and hidden dimension of the critic, at least 1
    learning_rate: float = 1e-4  # of both sides, above 0
    # decays of Adam, in [0, 1)
    beta1: float = 0.5
    beta2: float = 0.9
    penalty: float = 10.0  # weight of the gradient penalty, at least 0
    # teacher helping: the generator reads real tokens and predicts only the last of a row; else all
    helping: bool = True
    # variable length: rows have 1 to the curriculum's number of tokens, evenly; else always that number
    variable: bool = True

    def __post_init__(self) -> None:
        ones = ("length", "rounds", "iterations", "critic_updates", "generator_updates", "batch_size", "critic_width")
        check_least(self, ones, 1)
        check_least(self, ("penalty",), 0)
        check_positive(self, ("learning_rate",))
        check_share(self, ("beta1", "beta2"))

    @property
    def curriculum(self) -> Curriculum:
        """The length of each round."""
        return Curriculum(self.length, self.rounds)


# settings of the generator (`NoiseGru`) and of its training
WGAN_PRESETS: Mapping[str, tuple[Mapping[str, Any], WganRecipe]] = MappingProxyType(
    {
        "paper": ({"width": 512, "noise": 10.0}, WganRecipe()),
        "tiny": (
            {"width": 64, "noise": 10.0},
            WganRecipe(
                length=7,
                rounds=20,
                iterations=10,
                critic_updates=5,
                generator_updates=2,
                critic_width=64,
                learning_rate=2e-3,
            ),
        ),
    }
)


@dataclass(frozen=True)
class GumbelGanRecipe:
    """How the two sides are trained, after the generator has learnt from real text."""

    # rounds, at least 0, the first ones of the discriminator alone; steps of a round, at least 1: one update of the
    # discriminator, then one of the generator
    rounds: int = 100
    pretraining_rounds: int = 5
    iterations: int = 50
    batch_size: int = 64  # sentences of each side in an update, at least 1
    # temperature of the first and the last round, above 0
    temperature: float = 1.0
    last_temperature: float = 0.1
    # generator: learning rate of Adam, gradient norm for clipping
    learning_rate: float = 1e-4
    max_norm: float = 5.0
    # discriminator: learning rate of Adam; embedding and hidden dimension; dropout
    judge_learning_rate: float = 1e-3
    dimension: int = 64
    width: int = 128
    dropout: float = 0.1
    n_validation: int = 10_000  # sentences drawn for the oracle to score, at least 1

    def __post_init__(self) -> None:
        check_least(self, ("rounds", "pretraining_rounds"), 0)
        check_least(self, ("iterations", "batch_size", "dimension", "width", "n_validation"), 1)
        check_positive(self, ("temperature", "last_temperature", "learning_rate", "max_norm", "judge_learning_rate"))
        check_share(self, ("dropout",))


# settings of the generator (`LstmModel` and its pre-training) and of the adversarial training; ours
GUMBELGAN_PRESETS: Mapping[str, tuple[Mapping[str, Any], GumbelGanRecipe]] = MappingProxyType(
    {
        "small": (
            {"width": 128, "dropout": 0.2, "recipe": Recipe(max_epochs=8, learning_rate=4e-3, schedule="linear")},
            GumbelGanRecipe(),
        ),
        "tiny": (
            {"width": 32, "dropout": 0.0, "recipe": Recipe(max_epochs=4, learning_rate=1e-2, schedule="linear")},
            GumbelGanRecipe(rounds=20, pretraining_rounds=2, iterations=20, dimension=16, width=32, n_validation=1000),
        ),
    }
)
