"""``textassay train leakgan``: cycles of learning from real text and of the discriminator, then rounds."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from textassay.adversarial.history import RoundsHistory
from textassay.adversarial.leakgan import LeakGan
from textassay.adversarial.leakgan_recipe import LEAKGAN_PRESETS, LeakGanRecipe
from textassay.adversarial.rounds import COLLAPSE, Phase
from textassay.adversarial.validation import VALID
from textassay.cli.adversarial_kind import Begun, Tell, TrainAdversarialOptions, check_lengths, chosen_preset
from textassay.cli.train import TrainingTexts
from textassay.errors import OptionError
from textassay.network.leakgan import LeakGanModel

__all__ = ["LeakGanKind"]

_OF_RECIPE = ("batch_size", "learning_rate")


class LeakGanKind:
    """LeakGAN; ``--epochs`` are those over real text in each cycle before the rounds."""

    def check(self, options: TrainAdversarialOptions) -> None:
        """Raise for what is wrong with the options before anything is read."""
        if options.oracle is not None:
            raise OptionError("leakgan has no --oracle")
        _plan(options)

    def settings(self, options: TrainAdversarialOptions) -> Mapping[str, Any]:
        """Return what the preset and the options come to."""
        model, recipe = _plan(options)
        return {"network": model.settings, "rounds": asdict(recipe)}

    def check_texts(self, options: TrainAdversarialOptions, texts: TrainingTexts) -> None:
        """Raise where a sentence has another length than all shall have."""
        check_lengths(texts, options.length)

    def begin(self, options: TrainAdversarialOptions, texts: TrainingTexts, tell: Tell | None) -> Begun:
        """Return the training."""
        model, recipe = _plan(options, texts.longest)
        training = LeakGan(model, texts.train, texts.valid, recipe=recipe, seed=options.texts.seed)

        def finish(history: RoundsHistory) -> LeakGanModel:
            recorded = json.loads(json.dumps(asdict(recipe)))
            training.finish({"kind": "leakgan", **history.ending, "recipe": recorded})
            return model

        return Begun(
            name=model.name,
            n_parameters=model.n_parameters,
            training=training,
            phases=(Phase("pretraining", recipe.cycles), Phase("adversarial", recipe.rounds)),
            collapse=COLLAPSE,
            best=VALID,
            sample=lambda n, seed: training.sample(n, seed=seed),
            finish=finish,
        )


def _plan(options: TrainAdversarialOptions, longest: int = 1) -> tuple[LeakGanModel, LeakGanRecipe]:
    """Return a generator that has learnt nothing and writes no more than `longest` tokens, and the recipe."""
    network, recipe = chosen_preset("leakgan", LEAKGAN_PRESETS, options, (*_OF_RECIPE, "width", "max_epochs"))
    asked = options.texts.settings
    changes = {name: asked[name] for name in _OF_RECIPE if name in asked}
    if "max_epochs" in asked:
        changes["pretraining_epochs"] = asked["max_epochs"]
    if options.rounds is not None:
        changes["rounds"] = options.rounds
    recipe = replace(recipe, **changes)
    settings = {**network, **({"width": asked["width"]} if "width" in asked else {})}
    limit = longest if options.length is None else options.length
    return LeakGanModel(**settings, length=options.length, max_length=limit, seed=options.texts.seed), recipe
