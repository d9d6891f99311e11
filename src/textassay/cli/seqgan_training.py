"""``textassay train seqgan``, ``rankgan``: maximum likelihood first, kept as a model of its own, then the two sides."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from textassay.adversarial.history import RoundsHistory
from textassay.adversarial.rounds import COLLAPSE, Phase
from textassay.adversarial.seqgan import SeqGan
from textassay.adversarial.seqgan_recipe import SeqGanRecipe
from textassay.adversarial.validation import ORACLE, VALID
from textassay.cli.adversarial_kind import Begun, Tell, TrainAdversarialOptions
from textassay.cli.messages import print_line
from textassay.cli.models import RANDOM, open_model
from textassay.cli.progress import tell_step
from textassay.cli.train import TrainingTexts
from textassay.cli.trained_folder import CHECKPOINT
from textassay.errors import InputError, OptionError, unknown_name
from textassay.model_store.saved import save_model
from textassay.network.lstm import LstmModel
from textassay.network.random_lstm import RandomLstm
from textassay.training.recipe import Recipe

__all__ = ["MLE", "SeqGanKind"]

MLE = "mle"  # folder in the folder: the generator before the rounds

_NETWORK = ("width", "layers", "dropout", "batch_size")
_LONG = 200  # tokens; roll-outs take time as the square of the longest sentence


@dataclass(frozen=True)
class SeqGanKind:
    """SeqGAN, and MLE SeqGAN with no rounds; or what differs from it in the two sides alone.

    Attributes
    ----------
    name
        As on the command line.
    presets
        Name to settings of the generator and recipe of the rounds.
    two_sided
        Makes the training, as `SeqGan` does.
    """

    name: str
    presets: Mapping[str, tuple[Mapping[str, Any], SeqGanRecipe]]
    two_sided: Callable[..., SeqGan]

    def check(self, options: TrainAdversarialOptions) -> None:
        """Raise for what is wrong with the options before anything is read."""
        self._plan(options)
        if options.oracle is None:
            return
        if options.texts.like != options.oracle or options.length is not None:
            raise OptionError("--oracle MODEL brings vocabulary and length: leave --like and --length out")
        if options.oracle.split(":")[0] != RANDOM:
            raise OptionError(f"--oracle must be random-lstm or random-lstm:SEED, got '{options.oracle}'")

    def settings(self, options: TrainAdversarialOptions) -> Mapping[str, Any]:
        """Return what the preset and the options come to."""
        network, recipe = self._plan(options)
        return {"network": {**network, "recipe": asdict(network["recipe"])}, "rounds": asdict(recipe)}

    def check_texts(self, options: TrainAdversarialOptions, texts: TrainingTexts) -> None:
        """Raise where a sentence has another length than all shall have."""
        length = _length(options)
        if length is not None:
            _check_length(texts, length)

    def begin(self, options: TrainAdversarialOptions, texts: TrainingTexts, tell: Tell | None) -> Begun:
        """Fit the generator by maximum likelihood, keep it, and return the training."""
        network, recipe = self._plan(options)
        oracle = None if options.oracle is None else open_model(options.oracle).model
        length = _length(options)
        out, seed = options.texts.out, options.texts.seed
        if texts.longest > _LONG and not options.texts.quiet:
            print_line(
                f"a sentence has {texts.longest} tokens: roll-outs may be as long, and slow; --max-tokens N leaves "
                "longer ones out, and --window T reads running text"
            )
        model = LstmModel(**network, length=length, max_length=length or texts.longest, seed=seed)
        progress = None if tell is None else partial(tell_step, tell, model.recipe.max_epochs)
        model.fit(texts.train, texts.valid, checkpoint=out / CHECKPOINT, progress=progress)
        save_model(model, out / MLE, form=texts.form)
        training = self.two_sided(model, texts.train, texts.valid, recipe=recipe, oracle=oracle, seed=seed)

        def finish(history: RoundsHistory) -> LstmModel:
            told = {"kind": self.name, "kept": history.kept, "rounds": len(history.rounds), "stopped": history.stopped}
            recorded = json.loads(json.dumps(asdict(recipe)))
            training.finish({**told, "recipe": recorded, "oracle": options.oracle})
            return model

        return Begun(
            name=f"{self.name}({model.name})" if recipe.rounds else f"mle-{self.name}({model.name})",
            n_parameters=model.n_parameters,
            training=training,
            phases=_phases(recipe),
            collapse=COLLAPSE,
            best=VALID if oracle is None else ORACLE,
            sample=lambda n, seed: training.sample(n, seed=seed),
            finish=finish,
        )

    def _plan(self, options: TrainAdversarialOptions) -> tuple[dict[str, Any], SeqGanRecipe]:
        """Return the settings of the generator and the recipe of the rounds."""
        preset = options.texts.preset or "tiny"
        if preset not in self.presets:
            raise unknown_name(f"preset of {self.name}", preset, self.presets)
        before, recipe = self.presets[preset]
        network, asked = dict(before), options.texts.settings
        of_recipe = {each.name for each in fields(Recipe)}
        for name in asked:
            if name not in of_recipe and name not in _NETWORK:
                raise OptionError(f"{self.name} has no --{name.replace('_', '-')}")
        network |= {name: value for name, value in asked.items() if name in _NETWORK}
        network["recipe"] = replace(network["recipe"], **{k: v for k, v in asked.items() if k in of_recipe})
        LstmModel(**network, length=options.length)  # raises where a setting is out of range
        if options.rounds is not None:
            recipe = replace(recipe, rounds=options.rounds)
        return network, recipe


def _phases(recipe: SeqGanRecipe) -> tuple[Phase, ...]:
    """Return the phases; without adversarial rounds nobody asks the discriminator, which then learns nothing."""
    pretraining = recipe.pretraining_rounds if recipe.rounds else 0
    return Phase("discriminator", pretraining, judged=False), Phase("adversarial", recipe.rounds)


def _length(options: TrainAdversarialOptions) -> int | None:
    """Return how many tokens every sentence has; none where they end."""
    oracle = None if options.oracle is None else open_model(options.oracle).model
    return oracle.length if isinstance(oracle, RandomLstm) else options.length


def _check_length(texts: TrainingTexts, length: int) -> None:
    """Raise where a sentence has another length."""
    for corpus, told in ((texts.train, texts.train_told), (texts.valid, texts.valid_told)):
        others = np.flatnonzero(corpus.lengths != length)
        if len(others):
            raise InputError(
                f"{told.source}: {len(others)} of {len(corpus)} sentences do not have {length} tokens, the first is "
                f"sentence {others[0] + 1} with {corpus.lengths[others[0]]}: cut the text, or leave --length out"
            )
