"""Groups of sub-commands that are made when they are asked for: ``train MODEL`` and ``study NAME``.

The options of such a command come from classes that take time to import; the list of names does not wait for them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from textassay.cli.adapter import Command, add_command, answer_help
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
    "gumbelgan": "GAN whose gradients reach an LSTM through Gumbel-softmax, after maximum likelihood.",
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


TRAIN = Group("train", "Train a generator on your own text.", "model", MODELS, "textassay_lab.cli.train_models")
STUDY = Group(
    "study",
    "Repeat the experiments of a paper on your text, and set its numbers beside yours.",
    "study",
    {**STUDIES, "list": "List the studies and scales."},
    "textassay_lab.cli.study",
)


class _Commands(Mapping[str, Any]):
    """The commands of a group by name, each made when it is asked for."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._made: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._group.commands)

    def __len__(self) -> int:
        return len(self._group.commands)

    def __getitem__(self, name: str) -> Any:
        if name not in self._group.commands:
            raise KeyError(name)
        if name not in self._made:
            sub_command: type[Command] = import_module(self._group.module).command(name)
            app = typer.Typer(add_completion=False)
            add_command(app, sub_command, name)
            self._made[name] = typer.main.get_command(app)
        return self._made[name]


def add_group(app: typer.Typer, group: Group, **settings: Any) -> None:
    """Add a group of commands to `app`; without a command, it lists them."""

    class ThisGroup(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = _Commands(group)  # type: ignore[assignment]

        def list_commands(self, ctx: Any) -> list[str]:
            return list(group.commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """Return what lists of commands show; what is run comes from `resolve_command`."""
            return TyperCommand(cmd_name, help=group.commands[cmd_name])

        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
            if args[0] not in self.commands:
                raise unknown_name(group.what, args[0], self.commands)
            return args[0], self.commands[args[0]], args[1:]

    metavar = f"{group.what.upper()} [OPTIONS]"
    commands = typer.Typer(
        name=group.name, help=group.help, cls=ThisGroup, subcommand_metavar=metavar, add_help_option=False
    )
    commands.callback(invoke_without_command=True)(answer_help)
    app.add_typer(commands, **settings)
