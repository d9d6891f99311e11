"""Translation models: settings, presets, and the public class; the network is in `translation_model`."""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.fields import Between, Option, Share
from textassay_lab.generator.text_generator import MAX_LAYERS, Presets, Settings, TextGenerator, last_held_out, read
from textassay_lab.training.recipe import DecayRecipe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from textassay.corpus.corpus import Texts
    from textassay.corpus.text_file import TextFile
    from textassay.corpus.text_form import TextForm
    from textassay_lab.generator.parallel import ParallelText

    Sides = tuple[TextFile, TextFile]  # text k of the second translates text k of the first

BYTE_PAIRS = 8000


@dataclass(eq=False, repr=False)
class TranslationSettings(Settings):
    """What can be set of a translation model and its training."""

    width: Annotated[int, Option("Embedding dimension, a multiple of --heads.")] = 256
    _: KW_ONLY
    feedforward_width: Annotated[int, Option("Width of the feed-forward layers."), Between(1)] = 1024
    encoder_layers: Annotated[int, Option("Blocks of the encoder."), Between(1, MAX_LAYERS)] = 3
    decoder_layers: Annotated[int, Option("Blocks of the decoder."), Between(1, MAX_LAYERS)] = 3
    heads: Annotated[int, Option("Attention heads."), Between(1)] = 4
    dropout: Annotated[float, Option("Dropout of embeddings, attention and blocks."), Share()] = 0.1
    recipe: DecayRecipe
    batch_tokens: Annotated[int, Option("Tokens in a batch, padding included.", panel="Training"), Between(1)] = 4096
    label_smoothing: Annotated[float, Option("Label smoothing.", panel="Training"), Share()] = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width < 1 or self.width % self.heads != 0:
            raise OptionError(f"width must be a multiple of heads, {self.heads}, got {self.width}")


class Translation(TextGenerator):
    """Transformer that translates, trained on pairs of sentences.

    It learns byte pairs of both sides. Settings: `width`, `feedforward_width`, `encoder_layers`, `decoder_layers`,
    `heads`, `dropout`, `batch_tokens`, `label_smoothing`, and those of training: see `Lstm`, and `beta2` and
    `weight_decay`.
    """

    kind = "translation"
    implementation = "textassay_lab.generator.translation_model:TranslationModel"
    settings_class = TranslationSettings
    command_options = ("Pairs",)
    # ``paper``: He et al., whose public code trains it on IWSLT14; ``small`` trains within minutes
    presets: ClassVar[Presets] = {
        "paper": {
            "width": 512,
            "feedforward_width": 1024,
            "encoder_layers": 6,
            "decoder_layers": 6,
            "heads": 4,
            "dropout": 0.3,
            "label_smoothing": 0.1,
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
            "feedforward_width": 512,
            "encoder_layers": 3,
            "decoder_layers": 3,
            "heads": 4,
            "dropout": 0.2,
            "label_smoothing": 0.1,
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
            "feedforward_width": 64,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "heads": 2,
            "dropout": 0.0,
            "label_smoothing": 0.0,
            "batch_tokens": 512,
            "recipe": DecayRecipe(
                max_epochs=3, learning_rate=4e-3, schedule="inverse-sqrt", warmup_steps=10, beta2=0.98
            ),
        },
    }

    def __init__(self, *, byte_pairs: int = BYTE_PAIRS, **settings: Any) -> None:
        self.byte_pairs = byte_pairs
        super().__init__(**settings)

    def lengths(self, longest: int, max_length: int) -> Mapping[str, Any]:
        """Return nothing: sentences may have any length."""
        return {}

    def fit(  # type: ignore[override]
        self,
        sources: "Texts",
        translations: "Texts",
        valid_sources: "Texts" = None,
        valid_translations: "Texts" = None,
        **how: Any,
    ) -> Self:
        """Learn to translate text k of `sources` into text k of `translations`; without validation text as `fit`."""
        if (valid_sources is None) != (valid_translations is None):
            raise OptionError("valid_sources and valid_translations belong together: give both, or none")
        self._check_new()
        train = checked_pairs(read(sources, "sources"), read(translations, "translations"))
        valid = None
        if valid_sources is not None:
            valid = checked_pairs(read(valid_sources, "valid_sources"), read(valid_translations, "valid_translations"))
        form, *pairs = self.training_pairs(train, valid)
        self._learn(form, lambda tell: tell(self.new_model({})).fit(*pairs, **how))
        return self

    def training_pairs(self, train: "Sides", valid: "Sides | None") -> "tuple[TextForm, ParallelText, ParallelText]":
        """Return the tokens, the pairs that are learnt from and those that validate, by default the last tenth."""
        from textassay_lab.generator.parallel import ParallelText

        if valid is None:
            if len(train[0]) < 2:
                raise TooFewSentencesError(f"training needs at least 2 pairs, got {len(train[0])}")
            (of_sources, last_sources), (of_translations, last_translations) = map(last_held_out, train)
            train, valid = (of_sources, of_translations), (last_sources, last_translations)
        elif [side.texts for side in train] == [side.texts for side in valid]:
            names = " and ".join(side.name for side in valid)
            raise InputError(f"{names} contain training pairs: give other pairs for validation")
        form = self.learn_form(*train)
        return form, ParallelText.from_texts(*train, form), ParallelText.from_texts(*valid, form)

    def learn_form(self, *texts: Iterable[str]) -> "TextForm":
        """Return the tokens of both sides, or those of `like`."""
        from textassay_lab.generator.parallel import learn_joint_form

        if self.like is not None:
            return self.like.form
        return learn_joint_form(*texts, size=self.byte_pairs, lowercase=bool(self.form_settings["lowercase"]))

    def sample(  # type: ignore[override]
        self,
        sources: "Texts",
        *,
        seed: int = 0,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
    ) -> list[str]:
        """Return a drawn translation of each source; as `TextGenerator.sample`."""
        corpus = self.corpus(sources)
        return self._sample(len(corpus), seed, temperature, top_k, top_p, None, corpus)

    def translate(self, sources: "Texts", *, beam: int = 5, length_power: float = 1.0) -> list[str]:
        """Return the best translation of each source that beam search finds."""
        from textassay_lab.generator.translation_decoding import translate

        return list(translate(self.model, self.corpus(sources), width=beam, power=length_power).corpus.texts)

    def log_prob(  # type: ignore[override]
        self, texts: "Texts", *, sources: "Texts", temperature: float = 1.0
    ) -> "npt.NDArray[np.float64]":
        """Return the log-probability of each text as the translation of its source, in nats, shape (N,)."""
        corpora = self.corpus(texts), self.corpus(sources)
        log_probs: npt.NDArray[np.float64] = self.model.log_prob(corpora[0], temperature=temperature, source=corpora[1])
        return log_probs


def checked_pairs(sources: "TextFile", translations: "TextFile") -> "Sides":
    """Return both sides; raise where text k of one cannot translate text k of the other."""
    names = f"{sources.name} and {translations.name}"
    if len(sources) != len(translations):
        raise InputError(
            f"text k of {names} must say the same, but they have {len(sources):,} and {len(translations):,} texts"
        )
    if sources.texts == translations.texts:
        raise InputError(f"{names} contain the same texts: one must be in the other language")
    return sources, translations
