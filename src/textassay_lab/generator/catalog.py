"""The generators by name: the classes that declare them, and models made from presets or from saved settings."""

from collections.abc import Mapping
from dataclasses import fields, replace
from inspect import signature
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_type_hints

from textassay.errors import OptionError, check_type, unknown_name
from textassay_lab.generator.text_generator import TextGenerator
from textassay_lab.training.backend import require_neural

if TYPE_CHECKING:
    from textassay.ngram.language_model import LanguageModel
    from textassay_lab.generator.text_generator import Presets

# Name to the class that declares it, which loads neither PyTorch nor numpy, in the order of ``textassay train``
LANGUAGE_MODELS: Mapping[str, str] = MappingProxyType(
    {
        "lstm": "textassay_lab.generator.lstm:Lstm",
        "scheduled-sampling": "textassay_lab.generator.scheduled_sampling:ScheduledSampling",
        "gpt2": "textassay_lab.generator.gpt2:Gpt2",
        "transformer-xl": "textassay_lab.generator.transformer_xl:TransformerXl",
        "ngram": "textassay_lab.generator.ngram:Ngram",
        "position-unigram": "textassay_lab.generator.position_unigram:PositionUnigram",
        "c2s": "textassay_lab.generator.conditional:C2s",
        "gc2s": "textassay_lab.generator.conditional:GatedC2s",
        "att2seq": "textassay_lab.generator.conditional:Att2Seq",
        "translation": "textassay_lab.generator.translation:Translation",
    }
)
ADVERSARIAL: Mapping[str, str] = MappingProxyType(
    {
        "seqgan": "textassay_lab.adversarial.seqgan:SeqGan",
        "rankgan": "textassay_lab.adversarial.rankgan:RankGan",
        "leakgan": "textassay_lab.adversarial.leakgan:LeakGan",
        "cot": "textassay_lab.adversarial.cot:CoT",
        "scratchgan": "textassay_lab.adversarial.scratchgan:ScratchGan",
        "wgan": "textassay_lab.adversarial.wgan:Wgan",
    }
)
MODELS: Mapping[str, str] = MappingProxyType({**LANGUAGE_MODELS, **ADVERSARIAL})
# What a folder may hold besides: the generators of those that are trained against a discriminator, a random LSTM
_SAVED_BY: Mapping[str, str] = MappingProxyType(
    {
        "leakgan": ADVERSARIAL["leakgan"],
        "noise-gru": ADVERSARIAL["wgan"],
        "tied-lstm": ADVERSARIAL["scratchgan"],
        "random-lstm": "textassay_lab.generator.ready:RandomLstm",
    }
)
KINDS = (*LANGUAGE_MODELS, *_SAVED_BY)  # of models that work on corpora, and are kept in folders


def class_of(name: str) -> type[TextGenerator]:
    """Return the class that declares a generator; raise where there is none."""
    places = {**_SAVED_BY, **MODELS}
    if name not in places:
        raise unknown_name("generator", name, places)
    found: type[TextGenerator] = resolve_name(places[name])
    return found


def presets_of(name: str) -> "Presets":
    """Return preset to settings of a model that works on corpora; one without presets of its own has ``small``."""
    return class_of(name).presets if name in LANGUAGE_MODELS else {"small": {}}


def make_generator(name: str, *, preset: str | None = None, seed: int = 0, **settings: Any) -> "LanguageModel":
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


def remake_generator(name: str, settings: Mapping[str, Any]) -> "LanguageModel":
    """Return an unfitted generator with exactly these `settings`, read from JSON."""
    check_type("the kind of model", name, str)
    kind = kind_of(name)
    hints = get_type_hints(kind.__init__)  # type: ignore[misc]
    chosen = dict(settings)
    if "recipe" in hints and "recipe" in settings:
        recipe_hints = get_type_hints(hints["recipe"])
        check_type("recipe", settings["recipe"], Mapping[str, Any])
        _check_settings("setting of its recipe", settings["recipe"], recipe_hints)
        hints["recipe"], chosen["recipe"] = Any, hints["recipe"](**settings["recipe"])
    _check_settings("setting", chosen, {key: hint for key, hint in hints.items() if key != "return"})
    generator: LanguageModel = kind(**chosen)
    return generator


def _check_settings(what: str, settings: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    """Raise unless there are settings of exactly these names, each of its type."""
    for key in sorted(settings.keys() ^ hints.keys()):
        raise OptionError(f"{what} '{key}' is missing" if key in hints else f"unknown {what} '{key}'")
    for key, value in settings.items():
        check_type(key, value, hints[key])


def kind_of(name: str) -> type:
    """Return the class of a model that works on corpora; raise where there is none, or PyTorch is missing."""
    if name not in KINDS:
        raise unknown_name("generator", name, KINDS)
    declared = class_of(name)
    if declared.is_network:
        require_neural(f"the {name} generator")
    found: type = resolve_name(declared.implementation)
    return found
