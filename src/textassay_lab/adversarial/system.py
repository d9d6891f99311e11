"""What all public generators have in common that are trained against a discriminator, in rounds.

A system is declared in a file of its own, such as `textassay_lab.adversarial.seqgan`: a recipe of its rounds, presets,
and a class that derives from `Adversarial`. Its two sides are in the file beside it, such as `seqgan_training`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

from textassay.errors import InputError, OptionError, unknown_name
from textassay.fields import Field, Option, fields_of
from textassay_lab.generator.text_generator import TextGenerator

if TYPE_CHECKING:
    from textassay.corpus.corpus import Corpus

Presets = Mapping[str, tuple[Mapping[str, Any], Any]]
"""Name to the settings of the generator and the recipe of the rounds."""

DiscriminatorOption = partial(Option, panel="Discriminator")


@dataclass(frozen=True)
class Rounds:
    """A training against a discriminator that can begin; `finish` makes of its history the generator as it is kept."""

    name: str
    training: Any
    best: str  # what validation has lowest where it is best
    sample: "Callable[..., Corpus]"  # from the generator as it is
    finish: Callable[[Any], None]

    @property
    def phases(self) -> Sequence[Any]:
        phases: Sequence[Any] = self.training.phases
        return phases

    @property
    def collapse(self) -> Any:
        return self.training.collapse

    def run(self, *, keep: str, **how: Any) -> Any:
        """Train through all phases, and return the history; `keep` and `how` are those of `Adversarial`, `fit`."""
        from textassay_lab.adversarial.rounds import train_in_rounds

        best = self.best if keep == "best" else None
        return train_in_rounds(self.training, self.phases, keep=best, collapse=self.collapse, **how)


class Adversarial(TextGenerator):
    """A generator that is trained against a discriminator, in rounds.

    Settings are those of the network, of its training by maximum likelihood where there is one, and of the rounds.
    `length` is the number of tokens of every text, where texts do not end; `keep`: the round that is kept, ``last`` or
    ``best`` in validation.

    Attributes
    ----------
    history
        What validation said after each round.
    """

    default_preset = "tiny"
    presets: ClassVar[Presets]
    training: ClassVar[str]  # both sides, as ``package.module:class``
    recipe_class: ClassVar[type]  # a dataclass: how the rounds go
    unused: ClassVar[tuple[str, ...]] = ("batch_size", "dropout")  # settings of the network that rounds do not ask for
    begins_with_likelihood: ClassVar[bool] = False  # whether the network first learns from real text alone
    may_have_oracle: ClassVar[bool] = False
    history: Any = None

    def __init__(self, *, length: int | None = None, keep: str = "last", **settings: Any) -> None:
        self.length = length
        self.keep = keep
        if keep not in ("last", "best"):
            raise OptionError(f"keep must be last or best, got '{keep}'")
        super().__init__(**settings)

    @classmethod
    def setting_fields(cls) -> dict[str, Mapping[str, Field]]:
        """Return what can be set by name: of the network, of its maximum likelihood where it has any, of the rounds."""
        groups = super().setting_fields()
        if not cls.begins_with_likelihood:
            groups["training"] = {}
            groups["network"] = {name: each for name, each in groups["network"].items() if name not in cls.unused}
        rounds = {name: each for name, each in fields_of(cls.recipe_class).items() if each.option is not None}
        return {**groups, "rounds": rounds}

    @cached_property
    def plan(self) -> tuple[Mapping[str, Any], Any]:
        """The settings of the generator, and the recipe of the rounds."""
        preset = self.preset or self.default_preset
        if preset not in self.presets:
            raise unknown_name(f"preset of {self.kind}", preset, self.presets)
        network, recipe = dict(self.presets[preset][0]), self.presets[preset][1]
        groups = self.setting_fields().values()
        known = {name for group in groups for name in group}
        for name in self.settings:
            if name not in known:
                raise unknown_name(f"setting of {self.kind}", name, known)
        of_network, of_training, of_rounds = (
            {name: value for name, value in self.settings.items() if name in group} for group in groups
        )
        network |= of_network
        if of_training:
            network["recipe"] = replace(network["recipe"], **of_training)
        return network, replace(recipe, **{**self.more_of_rounds(of_network), **of_rounds})

    def more_of_rounds(self, of_network: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return settings of the rounds that those of the network, which differ from the preset, or `length` decide."""
        return {}

    def check(self) -> None:
        """Raise for a setting that cannot be."""
        network, recipe = self.plan
        self.untrained(network, recipe, length=self.length)

    def unfitted_model(self, longest: int) -> Any:
        """Return a generator that has learnt nothing; the discriminator is no part of it."""
        network, recipe = self.plan
        return self.untrained(network, recipe, length=self.length, longest=longest, seed=self.seed)

    @classmethod
    def untrained(
        cls, network: Mapping[str, Any], recipe: Any, *, length: int | None, longest: int | None = None, seed: int = 0
    ) -> Any:
        """Return a generator that has learnt nothing, of texts with `length` tokens, or up to `longest`."""
        lengths = {} if length is None and longest is None else {"max_length": length or longest}
        return cls._network(**network, length=length, **lengths, seed=seed)

    @classmethod
    def _network(cls, **settings: Any) -> Any:
        from textassay_lab.training.backend import require_neural

        require_neural(f"the {cls.kind} generator")
        return resolve_name(cls.implementation)(**settings)

    @classmethod
    def title(cls, model: Any, recipe: Any) -> str:
        """Return the name of a training."""
        return f"{cls.kind}({model.name})"

    @classmethod
    def begin(
        cls,
        model: Any,
        recipe: Any,
        train: "Corpus",
        valid: "Corpus | None",
        *,
        oracle_name: str | None = None,
        **how: Any,
    ) -> Rounds:
        """Return the training of `model`; `how` goes to it: `seed`, an `oracle` that has this name, and others."""
        from textassay_lab.adversarial.generator_training import ORACLE

        training = resolve_name(cls.training)(model, train, valid, recipe=recipe, **how)
        record: dict[str, Any] = {"recipe": json.loads(json.dumps(asdict(recipe)))}
        record |= {"oracle": oracle_name} if cls.may_have_oracle else {}
        return Rounds(
            name=cls.title(model, recipe),
            training=training,
            best=training.best if oracle_name is None else ORACLE,
            sample=getattr(training, "sample", model.sample),
            finish=lambda history: training.finish(history, record),
        )

    def check_lengths(self, corpus: "Corpus", source: str) -> None:
        """Raise where a text, of what `source` names, has another length than all shall have."""
        others = (corpus.lengths != self.length).nonzero()[0]
        if self.length is not None and len(others):
            raise InputError(
                f"{source}: {len(others):,} of {len(corpus):,} sentences do not have {self.length} tokens, the first "
                f"is sentence {others[0] + 1} with {corpus.lengths[others[0]]}: truncate the text, or leave length out"
            )

    def note(self, train: "Corpus") -> str | None:
        """Return what of the texts is slow or cut, if anything."""
        return None

    def _train(self, train: "Corpus", valid: "Corpus", longest: int, tell: Callable[[Any], Any], **how: Any) -> None:
        for corpus, name in ((train, "train"), (valid, "valid")):
            self.check_lengths(corpus, name)
        model = self.unfitted_model(longest)
        if self.begins_with_likelihood:
            model.fit(train, valid)
        rounds = self.begin(model, self.plan[1], train, valid, seed=self.seed)
        tell(model)
        self.history = rounds.run(keep=self.keep, **how)
        rounds.finish(self.history)
