"""Groups of sub-commands that are made when they are asked for: ``train MODEL`` and ``study NAME``.

The options of such a command come from classes that take time to import; the list of names does not wait for them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from textassay.cli.adapter import Command, add_command
from textassay.errors import unknown_name

MODELS: Mapping[str, str] = {
    "lstm": "LSTM language model.",
    "scheduled-sampling": "LSTM that is also shown its own words in training.",
    "gpt2": "GPT-2 language model, trained from scratch.",
    "transformer-xl": "Transformer-XL language model, with a memory of the sentences before.",
    "ngram": "n-gram language model with Kneser-Ney smoothing.",
    "position-unigram": "Words drawn independently, by their frequency at each position.",
    "c2s": "LSTM that starts from a context (C2S).",
    "gc2s": "LSTM that reads its context at every step, through a gate (gC2S).",
    "att2seq": "LSTM that attends to its context (Att2Seq).",
    "translation": "Transformer that translates, trained on pairs of sentences.",
    "seqgan": "SeqGAN: policy gradient against a CNN discriminator, after maximum likelihood.",
    "rankgan": "RankGAN: SeqGAN with a ranker instead of a discriminator.",
    "leakgan": "LeakGAN: manager and worker that see the discriminator's features.",
    "cot": "CoT: cooperative training of a generator and a mediator.",
    "scratchgan": "ScratchGAN: trained against a discriminator from the first step.",
    "wgan": "Recurrent Wasserstein GAN, without a likelihood.",
}

STUDIES: Mapping[str, str] = {
    "dd-real": "Generators trained on 20 to 100 % of a text: does a metric put them in that order?",
    "dd-synthetic": "The same on text that a GPT-2 wrote: does a metric follow the exact discrepancy?",
    "judges": "Texts that people judged: which evaluators agree with them?",
    "exposure-bias": "Language and translation models: are they worse after their own words than after real ones?",
    "gan-as-lm": "Character GANs and language models: how many bits per character, with a softmax and without?",
    "generators": "Every generator of the paper trained on one text: how do evaluators rank them, and are they right?",
}


@dataclass(frozen=True)
class Group:
    """Commands by name, with their summaries; ``command(name)`` in `module` returns one."""

    name: str
    help: str
    what: str
    commands: Mapping[str, str]
    module: str


TRAIN = Group("train", "Train a generator on your own text.", "model", MODELS, "textassay.cli.train_models")
STUDY = Group(
    "study",
    "Repeat the experiments of a paper on your text, and set its numbers beside yours.",
    "study",
    {**STUDIES, "list": "List the studies and scales."},
    "textassay.cli.study",
)


class _Group(TyperGroup):
    """A group that knows its commands' names and summaries, and makes a command when it is run."""

    what = ""
    make: Callable[[str], type[Command]]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._made: dict[str, Any] = {}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the name, the command with its options, and what is left of the arguments."""
        name = args[0]
        if name not in self.commands:
            raise unknown_name(self.what, name, self.commands)
        if name not in self._made:
            app = typer.Typer(add_completion=False)
            add_command(app, type(self).make(name), name)
            self._made[name] = typer.main.get_command(app)
        return name, self._made[name], args[1:]


def add_lazy_group(app: typer.Typer, group: Group) -> None:
    """Add a group of commands to `app`; without a command, it lists them."""

    def make(chosen: str) -> type[Command]:
        made: type[Command] = import_module(group.module).command(chosen)
        return made

    class ThisGroup(_Group):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            for name, summary in group.commands.items():
                self.commands[name] = TyperCommand(name, help=summary)

    ThisGroup.what, ThisGroup.make = group.what, staticmethod(make)
    metavar = f"{group.what.upper()} [OPTIONS]"
    commands = typer.Typer(name=group.name, help=group.help, cls=ThisGroup, subcommand_metavar=metavar)

    @commands.callback(invoke_without_command=True)
    def _list(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            print(context.get_help())

    app.add_typer(commands)
