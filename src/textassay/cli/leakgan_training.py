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
from textassay.cli.adversarial_kind import Begun, Tell, TrainAdversarialOptions
from textassay.cli.train import TrainingTexts
from textassay.errors import InputError, OptionError, unknown_name
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
        length = options.length
        for corpus, told in ((texts.train, texts.train_told), (texts.valid, texts.valid_told)):
            others = [] if length is None else [each for each in corpus.lengths.tolist() if each != length]
            if others:
                raise InputError(
                    f"{told.source}: {len(others)} of {len(corpus)} sentences do not have {length} tokens, the first "
                    f"of them has {others[0]}: cut the text, or leave --length out"
                )

    def begin(self, options: TrainAdversarialOptions, texts: TrainingTexts, tell: Tell | None) -> Begun:
        """Return the training."""
        model, recipe = _plan(options, texts.longest)
        training = LeakGan(model, texts.train, texts.valid, recipe=recipe, seed=options.texts.seed)

        def finish(history: RoundsHistory) -> LeakGanModel:
            told = {"kind": "leakgan", "kept": history.kept, "rounds": len(history.rounds), "stopped": history.stopped}
            training.finish({**told, "recipe": json.loads(json.dumps(asdict(recipe)))})
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
    preset = options.texts.preset or "tiny"
    if preset not in LEAKGAN_PRESETS:
        raise unknown_name("preset of leakgan", preset, LEAKGAN_PRESETS)
    network, recipe = LEAKGAN_PRESETS[preset]
    asked = dict(options.texts.settings)
    for name in asked:
        if name not in (*_OF_RECIPE, "width", "max_epochs"):
            raise OptionError(f"leakgan has no --{name.replace('_', '-')}")
    changes = {name: asked[name] for name in _OF_RECIPE if name in asked}
    if "max_epochs" in asked:
        changes["pretraining_epochs"] = asked["max_epochs"]
    if options.rounds is not None:
        changes["rounds"] = options.rounds
    recipe = replace(recipe, **changes)
    settings = {**network, **({"width": asked["width"]} if "width" in asked else {})}
    limit = longest if options.length is None else options.length
    return LeakGanModel(**settings, length=options.length, max_length=limit, seed=options.texts.seed), recipe
