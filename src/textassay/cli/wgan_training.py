"""``textassay train wgan``: a noise-driven generator against a critic, with no training before."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from textassay.adversarial.history import RoundsHistory
from textassay.adversarial.wgan import COLLAPSE, VALID, WganTraining
from textassay.adversarial.wgan_recipe import WGAN_PRESETS, WganRecipe
from textassay.adversarial.wgan_rows import TextWindows
from textassay.cli.adversarial_kind import Begun, Tell, TrainAdversarialOptions, chosen_preset
from textassay.cli.messages import print_line
from textassay.cli.train import TrainingTexts
from textassay.errors import OptionError, check_range
from textassay.network.noise_gru import NoiseGru

__all__ = ["WganKind"]

_OF_RECIPE = ("batch_size", "learning_rate")


class WganKind:
    """The recurrent Wasserstein GAN; ``--rounds`` are those of each length of its curriculum."""

    def check(self, options: TrainAdversarialOptions) -> None:
        """Raise for what is wrong with the options before anything is read."""
        if options.oracle is not None:
            raise OptionError("wgan has no likelihood that an oracle could judge: leave --oracle out")
        _plan(options)

    def settings(self, options: TrainAdversarialOptions) -> Mapping[str, Any]:
        """Return what the preset and the options come to."""
        model, recipe = _plan(options)
        return {"network": model.settings, "rounds": asdict(recipe)}

    def check_texts(self, options: TrainAdversarialOptions, texts: TrainingTexts) -> None:
        """Raise where no sentence is as long as windows shall be."""
        model, recipe = _plan(options)
        for corpus in (texts.train, texts.valid):
            TextWindows(corpus, recipe.length, ends=model.ends)

    def begin(self, options: TrainAdversarialOptions, texts: TrainingTexts, tell: Tell | None) -> Begun:
        """Return the training."""
        model, recipe = _plan(options)
        n_long = int((texts.train.lengths > model.length).sum()) if model.ends else 0
        if n_long and not options.texts.quiet:
            print_line(f"{n_long} sentences have more than {model.length} tokens: only what they begin with is learnt")
        training = WganTraining(model, texts.train, texts.valid, recipe, seed=options.texts.seed)

        def finish(history: RoundsHistory) -> NoiseGru:
            training.finish(history)
            return model

        return Begun(
            name=f"wgan({model.name})",
            n_parameters=model.n_parameters,
            training=training,
            phases=training.phases,
            collapse=COLLAPSE,
            best=VALID,
            sample=lambda n, seed: model.sample(n, seed=seed),
            finish=finish,
        )


def _plan(options: TrainAdversarialOptions) -> tuple[NoiseGru, WganRecipe]:
    """Return a generator that has learnt nothing, and the recipe."""
    network, recipe = chosen_preset("wgan", WGAN_PRESETS, options, (*_OF_RECIPE, "width"))
    asked = options.texts.settings
    changes = {name: asked[name] for name in _OF_RECIPE if name in asked}
    if "width" in asked:
        check_range("--width", asked["width"], 1)
        changes["critic_width"] = asked["width"]
    for name, value in (("rounds", options.rounds), ("length", options.length)):
        if value is not None:
            changes[name] = value
    recipe = replace(recipe, **changes)
    width = asked.get("width", network["width"])
    model = NoiseGru(width, length=recipe.length, noise=network["noise"], ends=options.length is None)
    return model, recipe
