"""Settings of the models that can be trained: their types, ranges and presets.

They stand apart from the networks, so that the help of ``textassay train`` need not load PyTorch; the classes of models
inherit from them. What a preset ``paper`` follows, its comment says; where a paper says nothing it has our best.
``small`` trains well on two processors within minutes, ``tiny`` within seconds, for trying things out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from textassay.corpus.limits import MAX_TOKENS
from textassay.errors import OptionError, check_least, check_positive, check_range, check_share, unknown_name
from textassay_lab.training.recipe import DecayRecipe, Recipe

Attributes = Mapping[str, Sequence[str]]
Presets = Mapping[str, Mapping[str, Any]]
Feeds = Literal["argmax", "distribution"]

MAX_WINDOW = 100_000  # the longest fixed length of all samples
MAX_LAYERS = 1000  # a limit for files: names and shapes of weights are listed by layer before anything is checked
_MAX_MEMORY = 1000  # goals of LeakGAN, each kept for every sentence that is drawn
_N_SPECIAL = 4  # tokens before the first word

SMALL = Recipe(max_epochs=6, learning_rate=4e-3, schedule="linear", max_norm=5.0)
_EXPOSURE = Recipe(max_epochs=12, learning_rate=2e-3, schedule="cosine", max_norm=5.0, precision="auto")


@dataclass(eq=False, repr=False)
class Settings:
    """Settings are fields; a model checks them when it is made."""

    kind: ClassVar[str]  # name in the catalogue
    presets: ClassVar[Presets] = MappingProxyType({"small": {}})

    def __post_init__(self) -> None:
        after = getattr(super(), "__post_init__", None)  # of the model
        if after is not None:
            after()

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor, JSON-ready."""
        return {name: _json_ready(value) for name, value in self.own_settings.items()}

    @property
    def own_settings(self) -> dict[str, Any]:
        """Arguments of the constructor that `settings` tells of."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


class NetworkSettings(Settings):
    """Networks that read sentences; subclasses have the fields."""

    batch_size: int
    max_length: int | None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("batch_size", self.batch_size, 1)
        check_range("max_length", self.max_length, 1, MAX_TOKENS)


@dataclass(eq=False, repr=False)
class LstmSettings(NetworkSettings):
    """LSTM."""

    kind: ClassVar[str] = "lstm"
    # ``paper``: Cai et al., "Distributional Discrepancy", as far as they say; the sizes of ``exposure-512``,
    # ``exposure-32`` and ``exposure-600`` are those of He et al., "Quantifying Exposure Bias", who do not say how
    # theirs are trained
    presets: ClassVar[Presets] = {
        "paper": {
            "width": 512,
            "layers": 2,
            "dropout": 0.5,
            "spread": 0.05,
            "batch_size": 128,
            "recipe": Recipe(max_epochs=80, learning_rate=1e-3, max_norm=10.0),
        },
        "small": {
            "width": 256,
            "layers": 1,
            "dropout": 0.4,  # with less, it overfits before the learning rate has fallen
            "batch_size": 64,
            "recipe": Recipe(max_epochs=8, learning_rate=5e-3, schedule="cosine", max_norm=5.0, precision="auto"),
        },
        "tiny": {
            "width": 32,
            "layers": 1,
            "dropout": 0.0,
            "batch_size": 32,
            "recipe": Recipe(max_epochs=3, learning_rate=1e-2, schedule="linear", max_norm=5.0),
        },
        "reviews": {  # Garbacea et al., "Judge the Judges"
            "width": 512,
            "layers": 2,
            "dropout": 0.5,
            "batch_size": 128,
            "recipe": Recipe(max_epochs=80, learning_rate=1e-3, max_norm=5.0),
        },
        "exposure-512": {"width": 512, "layers": 1, "dropout": 0.3, "batch_size": 64, "recipe": _EXPOSURE},
        "exposure-32": {
            "width": 32,
            "layers": 1,
            "dropout": 0.0,
            "batch_size": 64,
            "recipe": replace(_EXPOSURE, learning_rate=1e-2),
        },
        "exposure-600": {"width": 600, "layers": 3, "dropout": 0.3, "batch_size": 64, "recipe": _EXPOSURE},
    }

    width: int = 128
    _: KW_ONLY
    layers: int = 1
    dropout: float = 0.1
    spread: float | None = None
    embedding: int | None = None  # dimension of the input vectors; None for `width`
    length: int | None = None
    recipe: Recipe = SMALL
    batch_size: int = 128
    max_length: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("width", self.width, 1)
        check_range("layers", self.layers, 1, MAX_LAYERS)
        check_range("length", self.length, 1, MAX_WINDOW)
        check_range("embedding", self.embedding, 1)
        check_share(self, ("dropout",))
        check_positive(self, ("spread",))

    @property
    def own_settings(self) -> dict[str, Any]:
        """Arguments of the constructor; `length` and `embedding` only where there are some."""
        apart = ("length", "embedding")
        return {name: value for name, value in super().own_settings.items() if name not in apart or value is not None}


@dataclass(eq=False, repr=False)
class ScheduledSamplingSettings(LstmSettings):
    """LSTM that learns from its own words, too."""

    kind: ClassVar[str] = "scheduled-sampling"
    # those of the LSTM, with schedules of our own
    presets: ClassVar[Presets] = {
        "paper": {**LstmSettings.presets["paper"], "mixing": "inverse-sigmoid(k=8000)"},  # half after k ln k steps
        "small": {
            **LstmSettings.presets["small"],
            "mixing": "linear(k=1,c=0.00005,least=0.5)",
        },  # with least=0, samples degenerate
        "tiny": {**LstmSettings.presets["tiny"], "mixing": "linear(k=1,c=0.0005,least=0.5)"},
    }

    _: KW_ONLY
    mixing: str = "inverse-sigmoid(k=1000)"
    greedy: bool = False


@dataclass(eq=False, repr=False)
class TiedLstmSettings(LstmSettings):
    """LSTM with tied embeddings, whose presets are those of ScratchGAN."""

    kind: ClassVar[str] = "tied-lstm"
    presets: ClassVar[Presets] = {"small": {"recipe": SMALL}}

    _: KW_ONLY
    dimension: int = 64
    fixed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, ("dimension",), 1)
        check_least(self, ("fixed",), 0)
        if self.embedding is not None:
            raise OptionError("the embedding of tied-lstm is set by dimension and fixed")


@dataclass(eq=False, repr=False)
class ContextSettings(LstmSettings):
    """LSTM that answers to contexts."""

    _: KW_ONLY
    context_width: int = 16
    attributes: Attributes = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("context_width", self.context_width, 1)
        from textassay.corpus.contexts import n_contexts

        n_contexts(self.attributes)
        self.attributes = {name: list(categories) for name, categories in self.attributes.items()}


@dataclass(eq=False, repr=False)
class C2sSettings(ContextSettings):
    """C2S."""

    kind: ClassVar[str] = "c2s"
    # ``paper``: usual sizes, as "Judge the Judges", EMNLP 2019, does not say how theirs were trained
    # ``small`` and ``tiny`` are those of the LSTM, for comparison
    presets: ClassVar[Presets] = {
        "paper": {
            "width": 512,
            "layers": 1,
            "context_width": 64,
            "dropout": 0.2,
            "batch_size": 128,
            "recipe": Recipe(max_epochs=80, patience=5, learning_rate=1e-3, max_norm=5.0),
        },
        "small": {**LstmSettings.presets["small"], "context_width": 32},
        "tiny": {**LstmSettings.presets["tiny"], "context_width": 8},
    }


@dataclass(eq=False, repr=False)
class GatedC2sSettings(C2sSettings):
    """gC2S."""

    kind: ClassVar[str] = "gc2s"


@dataclass(eq=False, repr=False)
class Att2SeqSettings(ContextSettings):
    """Att2Seq."""

    kind: ClassVar[str] = "att2seq"
    # ``paper``: the sizes of Dong et al.
    # ``small`` and ``tiny`` are those of the LSTM, for comparison
    presets: ClassVar[Presets] = {
        "paper": {
            "width": 512,
            "layers": 2,
            "context_width": 64,
            "dropout": 0.2,
            "spread": 0.08,
            "batch_size": 50,
            "recipe": Recipe(max_epochs=80, patience=5, learning_rate=2e-3, rule="rmsprop", max_value=5.0),
        },
        "small": {**LstmSettings.presets["small"], "context_width": 32},
        "tiny": {**LstmSettings.presets["tiny"], "context_width": 8},
    }


@dataclass(eq=False, repr=False)
class Gpt2Settings(NetworkSettings):
    """GPT-2."""

    kind: ClassVar[str] = "gpt2"
    # ``paper``: Cai et al., "Distributional Discrepancy"; ``small`` trains within minutes, ``tiny`` within seconds
    presets: ClassVar[Presets] = {
        "paper": {
            "width": 768,
            "layers": 12,
            "heads": 12,
            "dropout": 0.1,
            "batch_size": 128,
            "recipe": Recipe(max_epochs=40, learning_rate=2e-5),
        },
        "paper-80": {  # the epochs of the text of the paper; ``paper`` has those of its code
            "width": 768,
            "layers": 12,
            "heads": 12,
            "dropout": 0.1,
            "batch_size": 128,
            "recipe": Recipe(max_epochs=80, learning_rate=2e-5),
        },
        "small": {
            "width": 256,
            "layers": 4,
            "heads": 4,
            "dropout": 0.1,
            "batch_size": 64,
            "recipe": Recipe(
                max_epochs=8, learning_rate=1e-3, schedule="cosine", max_norm=1.0, precision="auto", warmup_steps=200
            ),
        },
        "tiny": {
            "width": 32,
            "layers": 2,
            "heads": 2,
            "dropout": 0.0,
            "batch_size": 32,
            "recipe": Recipe(max_epochs=3, learning_rate=4e-3, schedule="cosine", warmup_steps=10, max_norm=1.0),
        },
    }

    width: int = 256
    _: KW_ONLY
    layers: int = 4
    heads: int = 4
    dropout: float = 0.1
    positions: int | None = None  # one more than the longest sentence of the training text without it
    recipe: Recipe
    batch_size: int = 128
    max_length: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("layers", self.layers, 1, MAX_LAYERS)
        check_range("heads", self.heads, 1)
        check_range("positions", self.positions, 2)
        if self.width < 1 or self.width % self.heads != 0:
            raise OptionError(f"width must be a multiple of heads, {self.heads}, got {self.width}")
        check_share(self, ("dropout",))


@dataclass(eq=False, repr=False)
class TransformerXlSettings(NetworkSettings):
    """Transformer-XL."""

    kind: ClassVar[str] = "transformer-xl"
    # ``paper``: He et al., "Quantifying Exposure Bias for Neural Language Generation"
    presets: ClassVar[Presets] = {
        "paper": {
            "width": 410,
            "inner": 2100,
            "layers": 16,
            "heads": 10,
            "dropout": 0.1,
            "segment": 150,
            "memory": 150,
            "emptied": 0.03,
            "cutoffs": (20_000, 40_000, 200_000),
            "batch_size": 60,
            # of half of WikiText-103, 50 million words, 36 epochs are 200,000 steps
            "recipe": Recipe(max_epochs=36, learning_rate=2.5e-4, schedule="cosine", max_norm=0.25),
        },
        "small": {
            "width": 256,
            "inner": 1024,
            "layers": 4,
            "heads": 4,
            "dropout": 0.1,
            "segment": 64,
            "memory": 64,
            "batch_size": 32,
            "recipe": Recipe(
                max_epochs=8, learning_rate=1e-3, schedule="cosine", max_norm=0.25, precision="auto", warmup_steps=200
            ),
        },
        "tiny": {
            "width": 32,
            "inner": 64,
            "layers": 2,
            "heads": 2,
            "dropout": 0.0,
            "segment": 16,
            "memory": 16,
            "batch_size": 16,
            "recipe": Recipe(max_epochs=3, learning_rate=4e-3, schedule="cosine", warmup_steps=10, max_norm=1.0),
        },
    }

    width: int = 256
    _: KW_ONLY
    inner: int = 1024
    layers: int = 4
    heads: int = 4
    dropout: float = 0.1
    segment: int = 64
    memory: int = 64
    emptied: float = 0.03
    cutoffs: tuple[int, ...] = ()
    recipe: Recipe
    batch_size: int = 32
    max_length: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, ("inner", "heads", "segment"), 1)
        check_range("layers", self.layers, 1, MAX_LAYERS)
        check_range("memory", self.memory, 0)
        if self.width < 1 or self.width % self.heads != 0 or self.width % 2 != 0:
            raise OptionError(f"width must be even and a multiple of heads, {self.heads}, got {self.width}")
        check_share(self, ("dropout",))
        if not 0 <= self.emptied <= 1:
            raise OptionError(f"emptied must be at least 0 and at most 1, got {self.emptied}")
        self.cutoffs = tuple(self.cutoffs)
        rising = sorted({_N_SPECIAL - 1, *self.cutoffs})
        if tuple(rising[1:]) != self.cutoffs:
            raise OptionError(f"cutoffs must rise, from {_N_SPECIAL} on, got {list(self.cutoffs)}")


@dataclass(eq=False, repr=False)
class TranslationSettings(Settings):
    """Encoder-decoder transformer."""

    kind: ClassVar[str] = "translation"
    # ``paper``: He et al., whose public code trains it on IWSLT14; ``small`` trains within minutes
    presets: ClassVar[Presets] = {
        "paper": {
            "width": 512,
            "inner": 1024,
            "encoder_layers": 6,
            "decoder_layers": 6,
            "heads": 4,
            "dropout": 0.3,
            "smoothing": 0.1,
            "batch_tokens": 4096,
            "recipe": DecayRecipe(
                max_epochs=50,
                learning_rate=5e-4,
                schedule="inverse-sqrt",
                warmup_steps=4000,
                beta2=0.98,
                weight_decay=1e-4,
            ),
        },
        "small": {
            "width": 256,
            "inner": 512,
            "encoder_layers": 3,
            "decoder_layers": 3,
            "heads": 4,
            "dropout": 0.2,
            "smoothing": 0.1,
            "batch_tokens": 2048,
            "recipe": DecayRecipe(
                max_epochs=16,
                learning_rate=1e-3,
                schedule="cosine",  # so few steps end better when the rate has fallen to 0
                warmup_steps=400,
                beta2=0.98,
                weight_decay=1e-4,
                precision="auto",
            ),
        },
        "tiny": {
            "width": 32,
            "inner": 64,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "heads": 2,
            "dropout": 0.0,
            "smoothing": 0.0,
            "batch_tokens": 512,
            "recipe": DecayRecipe(
                max_epochs=3, learning_rate=4e-3, schedule="inverse-sqrt", warmup_steps=10, beta2=0.98
            ),
        },
    }

    width: int = 256
    _: KW_ONLY
    inner: int = 1024
    encoder_layers: int = 3
    decoder_layers: int = 3
    heads: int = 4
    dropout: float = 0.1
    smoothing: float = 0.1
    batch_tokens: int = 4096
    recipe: Recipe
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, ("inner", "heads", "batch_tokens"), 1)
        check_range("encoder_layers", self.encoder_layers, 1, MAX_LAYERS)
        check_range("decoder_layers", self.decoder_layers, 1, MAX_LAYERS)
        if self.width < 1 or self.width % self.heads != 0:
            raise OptionError(f"width must be a multiple of heads, {self.heads}, got {self.width}")
        check_share(self, ("dropout", "smoothing"))


@dataclass(eq=False, repr=False)
class LeakGanSettings(NetworkSettings):
    """LeakGAN's generator."""

    kind: ClassVar[str] = "leakgan"

    width: int = 32
    _: KW_ONLY
    goal: int = 16
    memory: int = 4
    dimension: int = 64
    filters: Sequence[Sequence[int]] = ((1, 100), (2, 100), (3, 100))
    sharpness: float = 1.0
    length: int | None = None
    max_length: int = 200
    batch_size: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        self.recipe = Recipe(max_epochs=1)
        super().__post_init__()
        check_least(self, ("width", "goal", "dimension"), 1)
        check_range("memory", self.memory, 1, _MAX_MEMORY)
        check_range("length", self.length, 1, MAX_WINDOW)
        check_positive(self, ("sharpness",))
        windows = {pair[0] for pair in self.filters}
        if not windows or min(map(min, self.filters)) < 1 or len(windows) < len(self.filters):
            raise OptionError(
                f"filters must be different windows of at least 1 with at least 1 filter, got {self.filters}"
            )


@dataclass(eq=False, repr=False)
class NoiseGruSettings(Settings):
    """GRU driven by noise."""

    kind: ClassVar[str] = "noise-gru"

    width: int = 64
    _: KW_ONLY
    length: int = 32
    noise: float = 10.0
    feeds: Feeds = "argmax"
    ends: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("width", self.width, 1)
        check_range("length", self.length, 1, MAX_WINDOW)
        check_positive(self, ("noise",))
        if self.feeds not in ("argmax", "distribution"):
            raise OptionError(f"feeds must be argmax or distribution, got '{self.feeds}'")


class NgramSettings:
    """n-gram model, which checks them itself."""

    kind: ClassVar[str] = "ngram"
    presets: ClassVar[Presets] = {"paper": {"order": 5}, "small": {"order": 3}, "tiny": {"order": 2}}

    order: int
    discounts: Literal["modified", "single"]
    max_length: int


class PositionUnigramSettings:
    """Words by position."""

    kind: ClassVar[str] = "position-unigram"
    presets: ClassVar[Presets] = {"paper": {}, "small": {}, "tiny": {}}

    strength: float


class RandomLstmSettings:
    """Random LSTM, which checks them itself."""

    kind: ClassVar[str] = "random-lstm"

    n_words: int
    length: int
    width: int


SETTINGS: Mapping[str, type[Any]] = MappingProxyType(
    {
        each.kind: each
        for each in (
            Att2SeqSettings,
            C2sSettings,
            GatedC2sSettings,
            Gpt2Settings,
            LeakGanSettings,
            LstmSettings,
            NgramSettings,
            NoiseGruSettings,
            PositionUnigramSettings,
            RandomLstmSettings,
            ScheduledSamplingSettings,
            TiedLstmSettings,
            TransformerXlSettings,
            TranslationSettings,
        )
    }
)


CONDITIONAL = ("att2seq", "c2s", "gc2s")


def settings_of(name: str) -> type[Any]:
    """Return the class of the settings of a generator; raise where there is none."""
    if name not in SETTINGS:
        raise unknown_name("generator", name, SETTINGS)
    return SETTINGS[name]


def presets_of(name: str) -> Presets:
    """Return preset to settings of a generator; one without presets of its own has ``small``, its defaults."""
    presets: Presets = getattr(settings_of(name), "presets", {"small": {}})
    return presets


def _json_ready(value: Any) -> Any:
    if isinstance(value, Recipe):
        return asdict(value)
    return [_json_ready(each) for each in value] if isinstance(value, tuple | list) else value
