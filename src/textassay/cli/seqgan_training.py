"""``textassay train seqgan``, ``rankgan``: maximum likelihood first, kept as a model of its own, then the two sides."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any

from textassay.adversarial.history import RoundsHistory
from textassay.adversarial.rounds import COLLAPSE, Phase
from textassay.adversarial.seqgan import SeqGan
from textassay.adversarial.seqgan_recipe import SeqGanRecipe
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
from textassay.cli.messages import print_line
from textassay.cli.models import open_model
from textassay.cli.progress import tell_step
from textassay.cli.train import TrainingTexts
from textassay.cli.trained_folder import CHECKPOINT
from textassay.errors import OptionError
from textassay.model_store.saved import save_model
from textassay.network.lstm import LstmModel
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
        check_oracle(options)

    def settings(self, options: TrainAdversarialOptions) -> Mapping[str, Any]:
        """Return what the preset and the options come to."""
        network, recipe = self._plan(options)
        return {"network": {**network, "recipe": asdict(network["recipe"])}, "rounds": asdict(recipe)}

    def check_texts(self, options: TrainAdversarialOptions, texts: TrainingTexts) -> None:
        """Raise where a sentence has another length than all shall have."""
        check_lengths(texts, sentence_length(options))

    def begin(self, options: TrainAdversarialOptions, texts: TrainingTexts, tell: Tell | None) -> Begun:
        """Fit the generator by maximum likelihood, keep it, and return the training."""
        network, recipe = self._plan(options)
        oracle = None if options.oracle is None else open_model(options.oracle).model
        length = sentence_length(options)
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
            recorded = json.loads(json.dumps(asdict(recipe)))
            training.finish({"kind": self.name, **history.ending, "recipe": recorded, "oracle": options.oracle})
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
        of_recipe = {each.name for each in fields(Recipe)}
        before, recipe = chosen_preset(self.name, self.presets, options, of_recipe | {*_NETWORK})
        network, asked = dict(before), options.texts.settings
        network |= {name: value for name, value in asked.items() if name in _NETWORK}
        network["recipe"] = replace(network["recipe"], **{k: v for k, v in asked.items() if k in of_recipe})
        LstmModel(**network, length=options.length)  # raises where a setting is out of range
        rate = recipe.learning_rate if options.rounds_rate is None else options.rounds_rate
        if not 0 < rate < math.inf:
            raise OptionError(f"--rounds-rate must be above 0, got {rate:g}")
        n_rounds = recipe.rounds if options.rounds is None else options.rounds
        return network, replace(recipe, rounds=n_rounds, learning_rate=rate)


def _phases(recipe: SeqGanRecipe) -> tuple[Phase, ...]:
    """Return the phases; without adversarial rounds nobody asks the discriminator, which then learns nothing."""
    pretraining = recipe.pretraining_rounds if recipe.rounds else 0
    return Phase("discriminator", pretraining, judged=False), Phase("adversarial", recipe.rounds)
