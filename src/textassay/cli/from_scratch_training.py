"""``textassay train cot``, ``scratchgan``: two sides from their first step, with no maximum likelihood before."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from textassay.adversarial.cot import CotRecipe
from textassay.adversarial.from_scratch import FromScratch
from textassay.adversarial.history import RoundsHistory
from textassay.adversarial.rounds import Collapse
from textassay.adversarial.scratchgan_recipe import ScratchGanRecipe
from textassay.adversarial.validation import ORACLE, VALID
from textassay.cli.adversarial_kind import (
    Begun,
    Tell,
    TrainAdversarialOptions,
    check_lengths,
    check_oracle,
    chosen_preset,
    sentence_length,
)
from textassay.cli.models import open_model
from textassay.cli.train import TrainingTexts
from textassay.embedding.word_vectors import read_word_vectors, word_vector_size
from textassay.network.lstm import LstmModel

__all__ = ["FromScratchKind"]

_NETWORK, _OF_RECIPE = ("width", "layers"), ("batch_size", "learning_rate")
_COLLAPSED = 0.05  # share of the pairs of neighbours that real text has; dips to a few words are how it begins

AnyRecipe = CotRecipe | ScratchGanRecipe


@dataclass(frozen=True)
class FromScratchKind:
    """One of them.

    Attributes
    ----------
    name
        As on the command line.
    presets
        Name to settings of the generator and recipe.
    generator
        Class of the generator; that of ScratchGAN may be given word vectors.
    two_sided
        Makes the training from generator and texts.
    """

    name: str
    presets: Mapping[str, tuple[Mapping[str, Any], AnyRecipe]]
    generator: type[LstmModel]
    two_sided: Callable[..., FromScratch]

    def check(self, options: TrainAdversarialOptions) -> None:
        """Raise for what is wrong with the options before anything is read."""
        check_oracle(options)
        self._plan(options, options.length, None)

    def settings(self, options: TrainAdversarialOptions) -> Mapping[str, Any]:
        """Return what the preset and the options come to."""
        model, recipe = self._plan(options, sentence_length(options), None)
        told = {"network": model.settings, "rounds": asdict(recipe)}
        if options.vectors is None:
            return told
        with Path(options.vectors).open("rb") as file:
            return {**told, "vectors": hashlib.file_digest(file, "sha256").hexdigest()}

    def check_texts(self, options: TrainAdversarialOptions, texts: TrainingTexts) -> None:
        """Raise where a sentence has another length than all shall have, or word vectors are damaged."""
        check_lengths(texts, sentence_length(options))
        _vectors(options, texts)

    def begin(self, options: TrainAdversarialOptions, texts: TrainingTexts, tell: Tell | None) -> Begun:
        """Return the training."""
        model, recipe = self._plan(options, sentence_length(options), texts.longest)
        told = {"recipe": recipe, "seed": options.texts.seed, **_vectors(options, texts)}
        oracle = None if options.oracle is None else open_model(options.oracle).model
        training = self.two_sided(model, texts.train, texts.valid, oracle=oracle, **told)

        def finish(history: RoundsHistory) -> LstmModel:
            training.finish(history, {"recipe": json.loads(json.dumps(asdict(recipe))), "oracle": options.oracle})
            return model

        return Begun(
            name=f"{self.name}({model.name})",
            n_parameters=model.n_parameters,
            training=training,
            phases=training.phases,
            collapse=Collapse("variety", least=_COLLAPSED),
            best=VALID if oracle is None else ORACLE,
            sample=lambda n, seed: training.sample(n, seed=seed),
            finish=finish,
        )

    def _plan(
        self, options: TrainAdversarialOptions, length: int | None, longest: int | None
    ) -> tuple[LstmModel, AnyRecipe]:
        """Return a generator that has learnt nothing and writes up to `longest` tokens, and the recipe."""
        before, recipe = chosen_preset(self.name, self.presets, options, (*_NETWORK, *_OF_RECIPE))
        network, asked = dict(before), options.texts.settings
        network |= {name: asked[name] for name in _NETWORK if name in asked}
        if options.vectors is not None:
            network["fixed"] = word_vector_size(Path(options.vectors))
        changes = {name: asked[name] for name in _OF_RECIPE if name in asked}
        changes |= {} if options.rounds is None else {"rounds": options.rounds}
        if length is not None or longest is not None:
            network["max_length"] = length or longest
        return self.generator(**network, length=length, seed=options.texts.seed), replace(recipe, **changes)


def _vectors(options: TrainAdversarialOptions, texts: TrainingTexts) -> dict[str, Any]:
    """Return the word vectors of the file that was given, by the name of the setting; nothing without."""
    if options.vectors is None:
        return {}
    vocabulary = texts.train.vocabulary
    return {"vectors": read_word_vectors(Path(options.vectors), vocabulary, seed=options.texts.seed)}
