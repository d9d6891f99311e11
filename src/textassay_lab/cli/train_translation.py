"""``textassay train translation``: fit a translation model to pairs of sentences, some of which are held back."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

from textassay.addresses import place_of
from textassay.cli.adapter import Between, Command, option
from textassay.cli.options import STANDARD_INPUT, check_writable
from textassay.corpus.download import is_url
from textassay.corpus.source import check_exists
from textassay.errors import InputError, OptionError
from textassay_lab.cli.commands import MODELS
from textassay_lab.cli.model_settings import Settings, with_settings
from textassay_lab.cli.train import Fitted, Train, network_outcome
from textassay_lab.generator.settings import presets_of, settings_of
from textassay_lab.training.recipe import DecayRecipe

if TYPE_CHECKING:
    from textassay.corpus.parallel import ParallelText
    from textassay.corpus.text_form import TextForm
    from textassay.report.training import TrainedText
    from textassay_lab.generator.translation import TranslationModel

BYTE_PAIRS = 8000
HELD_BACK = ("held-back-source.jsonl", "held-back-real.jsonl")  # in the folder of the model

_HELD_OUT = 10  # without --valid, one pair in so many
_PAIRS = "Pairs"

Sides = tuple[list[str], list[str]]


class _Texts(NamedTuple):
    form: "TextForm"
    train: "ParallelText"
    valid: "ParallelText"
    held: Sides
    train_facts: "TrainedText"
    valid_facts: "TrainedText"


@dataclass(frozen=True, kw_only=True)
class TrainTranslation(Train):
    """A translation model."""

    source: Annotated[str, option("Line k is what line k of --real translates.", "FILE", _PAIRS)]
    valid_source: Annotated[str | None, option("The same for --valid.", "FILE", _PAIRS)] = None
    hold_back: Annotated[int, option("Keep N pairs out of training; they go to --out.", "N", _PAIRS), Between(0)] = 0

    def check(self) -> None:
        """Raise for whatever can be seen to be wrong before anything is read."""
        if (self.valid is None) != (self.valid_source is None):
            raise OptionError("--valid and --valid-source belong together: give both, or none for a tenth of the pairs")
        if self.like is not None and (self.byte_pairs is not None or self.lowercase):
            raise OptionError("--like MODEL brings tokenizer and vocabulary: leave --byte-pairs and --lowercase out")
        named = (self.source, self.real, self.valid_source, self.valid)
        if named.count(STANDARD_INPUT) > 1:
            raise OptionError("standard input can be read once only: name a file for each side")
        for source in named:
            if source is not None and source != STANDARD_INPUT and not is_url(source):
                check_exists(place_of(source))
        self._new_model()
        check_writable(self.out)

    def _new_model(self) -> "TranslationModel":
        from textassay_lab.generator.catalog import make_generator

        settings = self.given("network", "training")
        with self.as_options("network", "training"):
            model = make_generator(self.model, preset=self.preset, seed=self.seed, **settings)
        return cast("TranslationModel", model)

    def read(self) -> _Texts:
        """Return the pairs that training needs; say what was held back or held out."""
        from textassay.corpus.parallel import ParallelText, held_out_pairs
        from textassay.corpus.split import split_last

        both = self._sides(self.source, self.real)
        kept, out = held_out_pairs(len(both[0]), self.hold_back, seed=self.seed)
        held = _of(both, out.tolist())
        if self.valid is None or self.valid_source is None:
            first, last = split_last(len(kept), math.ceil(len(kept) / _HELD_OUT))
            train, valid = _of(both, kept[first].tolist()), _of(both, kept[last].tolist())
            valid_source = f"the last {len(last)} of the pairs"
            self.say(f"no --valid: {valid_source}, a tenth, are held out and not trained on")
        else:
            train, valid = _of(both, kept.tolist()), self._sides(self.valid_source, self.valid)
            valid_source = f"{self.valid_source}, {self.valid}"
            if train == valid:
                raise InputError(f"{valid_source} hold the pairs that are trained on: validate with others")
        if self.hold_back:
            seen = set(zip(*train, strict=True))
            repeated = sum(pair in seen for pair in zip(*held, strict=True))
            self.say(f"{self.hold_back} of {len(both[0])} pairs are held back; {repeated} equal one that is not")
        form = self._form(train)
        pairs = [ParallelText.from_texts(*sides, form) for sides in (train, valid)]
        facts = [_facts(pairs[0], f"{self.source}, {self.real}"), _facts(pairs[1], valid_source)]
        return _Texts(form, pairs[0], pairs[1], held, facts[0], facts[1])

    def _sides(self, source: str, target: str) -> Sides:
        texts = [list(self.read_file(name).texts) for name in (source, target)]
        if len(texts[0]) != len(texts[1]):
            raise InputError(
                f"line k of {source} and {target} must say the same, but they have {len(texts[0])} and "
                f"{len(texts[1])} lines"
            )
        if texts[0] == texts[1]:
            raise InputError(f"{source} and {target} hold the same sentences: --source is the other language")
        return texts[0], texts[1]

    def _form(self, train: Sides) -> "TextForm":
        from textassay.corpus.parallel import learn_joint_form

        size = BYTE_PAIRS if self.byte_pairs is None else self.byte_pairs
        return self.form_like() or learn_joint_form(*train, size=size, lowercase=self.lowercase)

    def record(self, texts: _Texts) -> dict[str, Any]:
        """Return everything that decides what is trained."""
        return {
            **super().record(texts),
            "vocabulary": texts.form.hash,
            "source": texts.train.source.fingerprint,
            "real": texts.train.target.fingerprint,
            "valid-source": texts.valid.source.fingerprint,
            "valid": texts.valid.target.fingerprint,
        }

    def fit(self, texts: _Texts, record: Mapping[str, Any]) -> Fitted:
        """Return the model, fitted in the folder, and what `Training` holds of it."""
        from textassay.cli.progress import show_progress
        from textassay_lab.cli.trained_folder import CHECKPOINT, SETTINGS, begun
        from textassay_lab.cli.training_progress import tell_step
        from textassay_lab.training.processes import is_main

        model, out = self._new_model(), self.out
        resumes = (out / CHECKPOINT).exists()
        sides = [_json_lines(side) for side in texts.held]
        held = dict(zip(HELD_BACK, sides, strict=True)) if self.hold_back else {}
        with begun(out, {SETTINGS: json.dumps(record, indent=1), **held}) if is_main() else nullcontext():
            self.say(f"{'going on with' if resumes else 'training'} {model.name} on {texts.train_facts}")
            with show_progress(quiet=self.quiet) as progress:
                tell = None if progress is None else partial(tell_step, progress, model.recipe.max_epochs)
                model.fit(texts.train, texts.valid, checkpoint=out / CHECKPOINT, progress=tell)
        return Fitted(model, network_outcome(model), files=[*held])


def command(name: str) -> type[Command]:
    """Return the command, with the settings of translation models."""
    network = Settings("network", settings_of("translation"), "Model", {
        "width": "Embedding dimension, a multiple of --heads.",
        "inner": ("feedforward_width", "Width of the feed-forward layers."),
        "encoder_layers": "Blocks of the encoder.",
        "decoder_layers": "Blocks of the decoder.",
        "heads": "Attention heads.",
        "dropout": "Dropout of embeddings, attention and blocks.",
    })  # fmt: skip
    training = Settings("training", settings_of("translation"), "Training", {
        "batch_tokens": "Tokens in a batch, padding included.",
        "smoothing": ("label_smoothing", "Label smoothing."),
    })  # fmt: skip
    recipe = Settings("training", DecayRecipe, "Training", {
        "max_epochs": ("epochs", "Most epochs."),
        "patience": "Stop after N epochs in a row without improvement.",
        "learning_rate": "Peak learning rate of AdamW.",
        "schedule": "Learning rate: constant, linear, cosine or inverse-sqrt.",
        "warmup_steps": "Steps over which the learning rate rises.",
        "beta2": "Decay of AdamW's mean of squared gradients.",
        "weight_decay": "Weight decay of AdamW.",
        "max_norm": "Clip gradients to this norm.",
        "max_value": "Clamp each number of a gradient to [-X, X].",
        "averaging": "Decay of the running mean of the weights that is kept; 0: the weights themselves.",
        "precision": "auto, float32 or bfloat16.",
    })  # fmt: skip
    parts = [network, recipe, training]
    return with_settings(TrainTranslation, name, MODELS[name], parts, presets=presets_of("translation"), preset="small")


def _of(sides: Sides, numbers: Sequence[int]) -> Sides:
    return [sides[0][number] for number in numbers], [sides[1][number] for number in numbers]


def _facts(pairs: "ParallelText", source: str) -> "TrainedText":
    import numpy as np

    from textassay.report.training import TrainedText

    unknown = float(np.mean([pairs.source.unk_rate, pairs.target.unk_rate]))
    return TrainedText(source, len(pairs), len(pairs.target.tokens), 0, unknown)


def _json_lines(texts: Sequence[str]) -> str:
    """Return sentences as JSON lines that `read_texts` reads, line breaks and all."""
    return "".join(f"{json.dumps({'text': text}, ensure_ascii=False)}\n" for text in texts)
