"""The trainable generators by name, created from presets or from saved settings."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from importlib import import_module
from inspect import signature
from json import dumps, loads
from math import prod
from types import MappingProxyType
from typing import Any, Protocol, cast, get_type_hints, runtime_checkable

from textassay.errors import OptionError, check_type, unknown_name
from textassay.ngram.language_model import LanguageModel
from textassay_lab.generator.settings import presets_of, settings_of
from textassay_lab.training.backend import require_neural
from textassay_lab.training.recipe import DecayRecipe

# Name to module and class: networks are loaded, and PyTorch with them, when they are asked for.
KINDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "att2seq": ("textassay_lab.generator.att2seq", "Att2SeqModel"),
        "c2s": ("textassay_lab.generator.c2s", "C2sModel"),
        "gc2s": ("textassay_lab.generator.c2s", "GatedC2sModel"),
        "gpt2": ("textassay_lab.generator.gpt2", "Gpt2Model"),
        "leakgan": ("textassay_lab.generator.leakgan", "LeakGanModel"),
        "lstm": ("textassay_lab.generator.lstm", "LstmModel"),
        "ngram": ("textassay.ngram.model", "NgramModel"),
        "noise-gru": ("textassay_lab.generator.noise_gru", "NoiseGru"),
        "position-unigram": ("textassay_lab.generator.position_unigram", "PositionUnigram"),
        "random-lstm": ("textassay_lab.generator.random_lstm", "RandomLstm"),
        "scheduled-sampling": ("textassay_lab.generator.scheduled_sampling", "ScheduledSampling"),
        "tied-lstm": ("textassay_lab.generator.tied_lstm", "TiedLstm"),
        "transformer-xl": ("textassay_lab.generator.transformer_xl", "TransformerXlModel"),
        "translation": ("textassay_lab.generator.translation", "TranslationModel"),
    }
)
FIXED_VECTORS = "fixed.weight"  # name among the weights of word vectors that are not learnt
_WITHOUT_PYTORCH = ("ngram", "position-unigram")


def make_generator(name: str, *, preset: str | None = None, seed: int = 0, **settings: Any) -> LanguageModel:
    """Return an unfitted generator.

    `name`: one of `KINDS`; `preset`: one of `presets_of` it; None for ``small``.
    """
    kind = kind_of(name)
    presets = presets_of(name)
    preset = "small" if preset is None else preset
    if preset not in presets:
        raise unknown_name(f"preset of {name}", preset, presets)
    chosen = dict(presets[preset])
    allowed = signature(kind).parameters.keys() - {"seed"}
    of_recipe = {field.name for field in fields(chosen["recipe"])} if "recipe" in chosen else set()
    for setting in settings:
        if setting not in allowed | of_recipe:
            raise unknown_name(f"setting of {name}", setting, allowed | of_recipe)
    chosen |= {setting: value for setting, value in settings.items() if setting in allowed}
    if of_recipe:
        changes = {setting: value for setting, value in settings.items() if setting in of_recipe}
        chosen |= {"recipe": replace(chosen["recipe"], **changes)}
    if "seed" in signature(kind).parameters:
        chosen |= {"seed": seed}
    generator: LanguageModel = kind(**chosen)
    return generator


def remake_generator(name: str, settings: Mapping[str, Any]) -> LanguageModel:
    """Return an unfitted generator with exactly these `settings`."""
    check_type("the kind of model", name, str)
    kind = kind_of(name)
    _check_settings(settings, get_type_hints(kind.__init__))  # type: ignore[misc]
    recipe = settings.get("recipe", {})
    generator = make_generator(name, **{**{key: settings[key] for key in settings if key != "recipe"}, **recipe})
    known: dict[str, Any] = loads(dumps(cast(Any, generator).settings))  # tuples are lists in JSON
    _check_names("setting", settings, known)
    if recipe:
        _check_names("setting of its recipe", recipe, known["recipe"])
    if known != settings:  # a setting was taken for an argument of another name
        changed = next(key for key in known if known[key] != settings[key])
        raise OptionError(f"setting '{changed}' of {name} cannot be {settings[changed]}")
    return generator


def kind_of(name: str) -> type:
    """Return the class of a generator; raise where there is none, or PyTorch is missing."""
    settings_of(name)
    if name not in _WITHOUT_PYTORCH:
        require_neural(f"the {name} generator")
    module, kind = KINDS[name]
    found: type = getattr(import_module(module), kind)
    return found


def _check_settings(settings: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Raise where a setting has not the type of the argument of its name; unknown names are ignored."""
    for key, value in settings.items():
        if key == "recipe":
            check_type("recipe", value, Mapping[str, Any])
            _check_settings(value, get_type_hints(DecayRecipe))
        elif key in kinds:
            check_type(key, value, kinds[key])


def _check_names(what: str, names: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    for key in sorted(names.keys() ^ expected.keys()):
        raise OptionError(f"{what} '{key}' is missing" if key in expected else f"unknown {what} '{key}'")


@runtime_checkable
class Shaped(Protocol):
    """A network that knows the shapes of its weights before it is fitted."""

    def shapes(self, n_types: int, longest: int = 0) -> Mapping[str, tuple[int, ...]]:
        """Return names and shapes of the weights for `n_types` of tokens and sentences up to `longest` tokens."""
        ...


@dataclass(frozen=True)
class ParameterCounts:
    """Number of weights that are learnt, alone and with the two moments that Adam keeps of each.

    Attributes
    ----------
    trainable
        The weights themselves.
    """

    trainable: int

    @property
    def with_moments(self) -> int:
        """Three times as many, which the main paper prints as parameters."""
        return 3 * self.trainable


def parameter_counts(model: Shaped, n_types: int, *, longest: int = 51) -> ParameterCounts:
    """Return the parameter counts of a network for a vocabulary of `n_types`, computed from shapes alone."""
    if n_types < 4 or longest < 1:
        raise OptionError(f"n_types must be at least 4 and longest at least 1, got {n_types} and {longest}")
    shapes = model.shapes(n_types, longest)
    return ParameterCounts(sum(prod(shape) for name, shape in shapes.items() if name != FIXED_VECTORS))
