"""Generators that answer to contexts (C2S, gC2S, Att2Seq): settings, presets, and the public classes.

Their networks are in `conditional_model`.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from textassay.errors import InputError, OptionError
from textassay.fields import Between, Option
from textassay_lab.generator.lstm import Lstm, LstmSettings
from textassay_lab.generator.text_generator import LONGEST, Presets, TextGenerator
from textassay_lab.training.recipe import Recipe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from textassay.corpus.corpus import Texts

Attributes = Mapping[str, Sequence[str]]
Contexts = Mapping[str, Sequence[str]] | str | os.PathLike[str]


@dataclass(eq=False, repr=False)
class ContextSettings(LstmSettings):
    """What can be set of an LSTM that answers to contexts."""

    _: KW_ONLY
    context_width: Annotated[int, Option("Embedding dimension of a context."), Between(1)] = 16
    attributes: Attributes = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        from textassay_lab.generator.contexts import n_contexts

        n_contexts(self.attributes)
        self.attributes = {name: list(categories) for name, categories in self.attributes.items()}


class Conditional(TextGenerator):
    """A generator that answers to contexts, such as a rating or a product: one category of each attribute.

    Contexts are a mapping from the name of each attribute to the categories of all texts (a data frame will do), or the
    path of a table (.tsv, .csv) whose first line names the attributes.
    """

    command_options = ("Contexts",)
    settings_class = ContextSettings

    def __init__(self, *, context_count: int = 1, **settings: Any) -> None:
        self.context_count = context_count
        super().__init__(**settings)

    def check(self) -> None:
        """Raise for a setting that cannot be."""
        self.new_model({"attributes": {"none": ["<other>"]}})

    def unfitted_model(self, longest: int) -> Any:
        """Refuse: the attributes of the contexts are learnt."""
        raise InputError(f"a {type(self).__name__} has a network for the attributes of its contexts: call fit first")

    def fit(  # type: ignore[override]
        self,
        train: "Texts",
        valid: "Texts" = None,
        *,
        contexts: Contexts,
        valid_contexts: Contexts | None = None,
        **how: Any,
    ) -> Self:
        """Learn from `train` and the contexts of its texts; as `TextGenerator.fit`.

        Categories that stand more seldom than `context_count` times are one.
        """
        if (valid is None) != (valid_contexts is None):
            raise OptionError("valid and valid_contexts belong together: give both, or none for a tenth of train")
        from textassay_lab.generator.contexts import trained_contexts

        form, train_corpus, valid_corpus = self._corpora(train, valid)
        valid_rows = None if valid_contexts is None else _contexts(valid_contexts)
        train_corpus, valid_corpus, attributes = trained_contexts(
            train_corpus, valid_corpus, _contexts(contexts), valid_rows, min_count=self.context_count
        )
        longest = max(1, int(max(train_corpus.lengths.max(), valid_corpus.lengths.max())))
        known = {**self.lengths(longest, max(longest, LONGEST)), "attributes": attributes}
        self._learn(form, lambda tell: tell(self.new_model(known)).fit(train_corpus, valid_corpus, **how))
        return self

    def sample(  # type: ignore[override]
        self,
        n: int,
        *,
        contexts: Contexts,
        seed: int = 0,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        prefix: str | Sequence[str] | None = None,
    ) -> list[str]:
        """Return `n` texts that answer to `contexts`, one or `n`; as `TextGenerator.sample`."""
        from textassay_lab.generator.contexts import with_contexts

        rows = _contexts(contexts)
        empty = self.form.corpus([""] * len(next(iter(rows.values()))))
        context = with_contexts(empty, rows, self.model.attributes)
        return self._sample(n, seed, temperature, top_k, top_p, prefix, context)

    def log_prob(  # type: ignore[override]
        self, texts: "Texts", *, contexts: Contexts, temperature: float = 1.0
    ) -> "npt.NDArray[np.float64]":
        """Return the log-probability of each text in its context; as `TextGenerator.log_prob`."""
        from textassay_lab.generator.contexts import with_contexts

        corpus = with_contexts(self.corpus(texts), _contexts(contexts), self.model.attributes)
        return self._log_prob(corpus, temperature)


class C2s(Conditional):
    """LSTM that starts from a context (C2S).

    Settings: those of `Lstm`, and `context_width`.
    """

    kind = "c2s"
    implementation = "textassay_lab.generator.conditional_model:C2sModel"
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
        "small": {**Lstm.presets["small"], "context_width": 32},
        "tiny": {**Lstm.presets["tiny"], "context_width": 8},
    }


class GatedC2s(C2s):
    """LSTM that reads its context at every step, through a gate (gC2S).

    Settings and presets: those of `C2s`.
    """

    kind = "gc2s"
    implementation = "textassay_lab.generator.conditional_model:GatedC2sModel"


class Att2Seq(Conditional):
    """LSTM that attends to its context (Att2Seq).

    Settings: those of `Lstm`, and `context_width`.
    """

    kind = "att2seq"
    implementation = "textassay_lab.generator.conditional_model:Att2SeqModel"
    # ``paper``: the sizes of Dong et al.
    # ``small`` and ``tiny`` are those of the LSTM, for comparison
    presets: ClassVar[Presets] = {
        "paper": {
            "width": 512,
            "layers": 2,
            "context_width": 64,
            "dropout": 0.2,
            "init_range": 0.08,
            "batch_size": 50,
            "recipe": Recipe(max_epochs=80, patience=5, learning_rate=2e-3, optimizer="rmsprop", max_value=5.0),
        },
        "small": {**Lstm.presets["small"], "context_width": 32},
        "tiny": {**Lstm.presets["tiny"], "context_width": 8},
    }


def _contexts(contexts: Contexts) -> dict[str, list[str]]:
    from textassay_lab.generator.contexts import read_contexts

    if isinstance(contexts, str | os.PathLike):
        return read_contexts(contexts)
    return {str(name): [str(value) for value in contexts[name]] for name in contexts}
