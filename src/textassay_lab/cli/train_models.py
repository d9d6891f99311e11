"""``textassay train``: the models there are, and the settings of language models."""

from collections.abc import Mapping
from importlib import import_module

from textassay.cli.adapter import Command
from textassay_lab.cli.commands import MODELS
from textassay_lab.cli.model_settings import Help, Settings, with_settings
from textassay_lab.cli.train import TrainConditional, TrainCounted, TrainWindowNetwork
from textassay_lab.generator.settings import CONDITIONAL, presets_of, settings_of
from textassay_lab.training.recipe import Recipe

MODEL, TRAINING = "Model", "Training"

_OTHERS = {  # in files of their own
    **dict.fromkeys(("cot", "gumbelgan", "leakgan", "rankgan", "scratchgan", "seqgan", "wgan"), "train_adversarial"),
    "translation": "train_translation",
}

RECIPE = Settings("training", Recipe, TRAINING, {
    "max_epochs": ("epochs", "Most epochs."),
    "patience": "Stop after N epochs in a row without improvement.",
    "learning_rate": "Peak learning rate.",
    "schedule": "Learning rate: constant, linear, cosine or inverse-sqrt.",
    "warmup_steps": "Steps over which the learning rate rises.",
    "max_norm": "Clip gradients to this norm.",
    "averaging": "Decay of the running mean of the weights that is kept; 0: the weights themselves.",
    "precision": "auto, float32 or bfloat16.",
    "rule": ("optimizer", "adam or rmsprop."),
    "max_value": "Clamp each number of a gradient to [-X, X].",
})  # fmt: skip
LSTM: Help = {
    "width": "Embedding and hidden dimension.",
    "layers": "LSTM layers.",
    "dropout": "Dropout between layers.",
    "embedding": ("embedding_width", "Embedding dimension; that of --width by default."),
    "spread": ("init_range", "Initial weights are uniform between -X and X."),
}
BATCH: Help = {"batch_size": "Sentences in a batch."}
_SHAPES: Mapping[str, Help] = {
    "lstm": LSTM,
    "scheduled-sampling": {
        **LSTM,
        "mixing": (
            "sampling_schedule",
            "How often the true word is shown, such as 'linear(k=1,c=0.001,least=0.1)'; also constant(k), "
            "exponential(k), inverse-sigmoid(k).",
        ),
        "greedy": "Show the most likely word instead of a drawn one.",
    },
    "gpt2": {
        "width": "Embedding dimension, a multiple of --heads.",
        "layers": "Transformer blocks.",
        "heads": "Attention heads.",
        "dropout": "Dropout of embeddings, attention and blocks.",
    },
    "transformer-xl": {
        "width": "Embedding dimension, even and a multiple of --heads.",
        "inner": ("feedforward_width", "Width of the feed-forward layers."),
        "layers": "Transformer blocks.",
        "heads": "Attention heads.",
        "dropout": "Dropout of embeddings, positions and blocks.",
        "segment": "Tokens of a segment.",
        "memory": "Tokens remembered; 0: sentences one by one.",
        "emptied": ("memory_reset_prob", "Probability that the memory is emptied before a batch."),
        "cutoffs": "Ids where clusters of the adaptive softmax begin, such as 20000,40000; none: a plain softmax.",
    },
    **{name: {**LSTM, "context_width": "Embedding dimension of a context."} for name in CONDITIONAL},
}  # fmt: skip
_COUNTED: Mapping[str, Help] = {
    "ngram": {
        "order": "Words of the longest n-grams.",
        "discounts": "Kneser-Ney discounts: modified (three an order) or single.",
    },
    "position-unigram": {
        "strength": "Weight of the frequency over all positions, in words.",
    },
}  # fmt: skip


def command(name: str) -> type[Command]:
    """Return the command of one model."""
    if name in _OTHERS:
        other: type[Command] = import_module(f"textassay_lab.cli.{_OTHERS[name]}").command(name)
        return other
    presets, kind = presets_of(name), settings_of(name)
    if name in _COUNTED:
        parts = [Settings("network", kind, MODEL, _COUNTED[name])]
        return with_settings(TrainCounted, name, MODELS[name], parts, presets=presets, preset="small")
    parts = [Settings("network", kind, MODEL, _SHAPES[name]), RECIPE, Settings("training", kind, TRAINING, BATCH)]
    base = TrainConditional if name in CONDITIONAL else TrainWindowNetwork
    return with_settings(base, name, MODELS[name], parts, presets=presets, preset="small")
