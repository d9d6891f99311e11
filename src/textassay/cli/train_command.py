"""How ``textassay train`` is spelt on the command line; light to import, as `textassay.cli.main` is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from textassay.cli.declarations import (
    Column,
    Config,
    Device,
    Json,
    Lowercase,
    MaxInput,
    MaxText,
    Quiet,
    Seed,
    Tokenizer,
    Workers,
)
from textassay.cli.model_names import ADVERSARIAL, CONTEXTUAL
from textassay.errors import OptionError

__all__ = ["train_command"]

_OF_MODEL = "Of the model"
_OF_TRAINING = "Of its training"
_OF_PAIRS = "Of translation"
_OF_CONTEXTS = "Of c2s, gc2s and att2seq"
_AGAINST = "Of training against a discriminator"
_TRANSFORMERS = "gpt2, transformer-xl."
_NETWORKS = "lstm, scheduled-sampling, gpt2, transformer-xl."


def train_command(
    *,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="lstm, scheduled-sampling, gpt2, transformer-xl, ngram, position-unigram, c2s, gc2s, att2seq, "
            "translation, seqgan, rankgan, leakgan, cot, scratchgan, wgan.",
        ),
    ],
    real: Annotated[str, typer.Option(metavar="FILE", help="Text to train on; '-' is standard input.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the model goes; again, it goes on or is done.")],
    valid: Annotated[
        str | None, typer.Option(metavar="FILE", help="Text that chooses the epoch; a tenth of --real by default.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Sizes and recipe: paper, small, tiny, or of lstm exposure-512.")
    ] = None,
    tokenizer: Tokenizer = "auto",
    byte_pairs: Annotated[
        int | None, typer.Option(metavar="N", help="Learn N byte pairs from --real instead of a tokenizer's words.")
    ] = None,
    lowercase: Lowercase = False,
    vocabulary_size: Annotated[
        int | None, typer.Option(metavar="N", help="Keep the N most frequent words; others become <unk>.")
    ] = None,
    min_count: Annotated[int, typer.Option(metavar="N", help="Keep words that stand N times or more.")] = 1,
    like: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Take tokenizer and vocabulary from a model, such as an oracle.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Leave longer sentences out, and draw none that are longer.")
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(metavar="T", help="Read files as running text, in windows of T tokens; else line by line."),
    ] = None,
    fraction: Annotated[
        float, typer.Option(metavar="F", help="Train on the first F of the sentences; the vocabulary is of all.")
    ] = 1.0,
    epochs: Annotated[int | None, typer.Option(metavar="N", help="Most epochs.", rich_help_panel=_OF_TRAINING)] = None,
    patience: Annotated[
        int | None,
        typer.Option(metavar="N", help="End after N epochs in a row that bring nothing.", rich_help_panel=_OF_TRAINING),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(metavar="N", help="Sentences in a batch; of translation tokens.", rich_help_panel=_OF_TRAINING),
    ] = None,
    auto_batch: Annotated[
        bool, typer.Option(help="Halve the batch where memory runs out.", rich_help_panel=_OF_TRAINING)
    ] = False,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="At its highest. seqgan, rankgan: before the rounds, which have --rounds-rate.",
            rich_help_panel=_OF_TRAINING,
        ),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(metavar="P", help="auto, float32 or bfloat16.", rich_help_panel=_OF_TRAINING),
    ] = None,
    layers: Annotated[int | None, typer.Option(metavar="N", help=_NETWORKS, rich_help_panel=_OF_MODEL)] = None,
    width: Annotated[int | None, typer.Option(metavar="N", help=_NETWORKS, rich_help_panel=_OF_MODEL)] = None,
    heads: Annotated[int | None, typer.Option(metavar="N", help=_TRANSFORMERS, rich_help_panel=_OF_MODEL)] = None,
    dropout: Annotated[float | None, typer.Option(metavar="X", help=_NETWORKS, rich_help_panel=_OF_MODEL)] = None,
    segment: Annotated[
        int | None, typer.Option(metavar="N", help="transformer-xl: tokens at once.", rich_help_panel=_OF_MODEL)
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="transformer-xl: tokens remembered; 0: sentences one by one.", rich_help_panel=_OF_MODEL
        ),
    ] = None,
    emptied: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="transformer-xl: probability that the memory is emptied.", rich_help_panel=_OF_MODEL
        ),
    ] = None,
    order: Annotated[int | None, typer.Option(metavar="N", help="ngram.", rich_help_panel=_OF_MODEL)] = None,
    mixing: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="scheduled-sampling: how often the true word is shown, such as 'linear(k=1,c=0.001,least=0.1)'.",
            rich_help_panel=_OF_MODEL,
        ),
    ] = None,
    greedy: Annotated[
        bool,
        typer.Option(help="scheduled-sampling: else its likeliest word, not a drawn one.", rich_help_panel=_OF_MODEL),
    ] = False,
    seed: Seed = 0,
    monitor: Annotated[
        str | None, typer.Option(metavar="LIST", help="Metrics to follow, such as 'dd,self-bleu(order=4),lm-score'.")
    ] = None,
    monitor_steps: Annotated[
        int | None, typer.Option(metavar="K", help="Every K steps, too, not only after each epoch.")
    ] = None,
    monitor_sentences: Annotated[int, typer.Option(metavar="N", help="Sentences drawn each time.")] = 1000,
    source: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Line k is what line k of --real translates.", rich_help_panel=_OF_PAIRS),
    ] = None,
    valid_source: Annotated[
        str | None, typer.Option(metavar="FILE", help="The same for --valid.", rich_help_panel=_OF_PAIRS)
    ] = None,
    hold_back: Annotated[
        int | None,
        typer.Option(metavar="N", help="Keep N pairs out of training; they go to --out.", rich_help_panel=_OF_PAIRS),
    ] = None,
    contexts: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="What each line of --real answers to: a .tsv or .csv table, names first.",
            rich_help_panel=_OF_CONTEXTS,
        ),
    ] = None,
    valid_contexts: Annotated[
        str | None, typer.Option(metavar="FILE", help="The same for --valid.", rich_help_panel=_OF_CONTEXTS)
    ] = None,
    context_count: Annotated[
        int | None,
        typer.Option(metavar="N", help="Contexts that stand less often are one.", rich_help_panel=_OF_CONTEXTS),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(metavar="N", help="Adversarial rounds; 0: none, as MLE SeqGAN.", rich_help_panel=_AGAINST),
    ] = None,
    rounds_rate: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="seqgan, rankgan: learning rate of the generator in the rounds.", rich_help_panel=_AGAINST
        ),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="WHICH", help="last round (default), or best.", rich_help_panel=_AGAINST)
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(metavar="N", help="All sentences have N tokens, and never end.", rich_help_panel=_AGAINST),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="scratchgan: word vectors, such as GloVe's.", rich_help_panel=_AGAINST),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="What drew --real, such as random-lstm.", rich_help_panel=_AGAINST),
    ] = None,
    column: Column = None,
    workers: Workers = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Train a generator on your own text: a network, or one that counts n-grams."""
    given = {
        "max_epochs": epochs,
        "patience": patience,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "precision": precision,
        "layers": layers,
        "width": width,
        "heads": heads,
        "dropout": dropout,
        "order": order,
        "segment": segment,
        "memory": memory,
        "emptied": emptied,
        "mixing": mixing,
        "greedy": greedy or None,
    }
    of_rounds = {"--rounds": rounds is not None, "--keep": keep, "--length": length is not None, "--oracle": oracle}
    if model not in CONTEXTUAL:
        named = {"--contexts": contexts, "--valid-contexts": valid_contexts, "--context-count": context_count}
        _refuse(model, named)
    if model != "scratchgan":
        _refuse(model, {"--vectors": vectors})
    if model not in ("rankgan", "seqgan"):
        _refuse(model, {"--rounds-rate": rounds_rate is not None})
    if model == "translation":
        _refuse(model, of_rounds)
        from textassay.cli.train_translation import TrainTranslationOptions, run_train_translation

        _refuse(
            model,
            {
                "--auto-batch": auto_batch,
                "--tokenizer": tokenizer != "auto",
                "--vocabulary-size": vocabulary_size is not None,
                "--min-count": min_count != 1,
                "--max-tokens": max_tokens is not None,
                "--window": window is not None,
                "--fraction": fraction != 1,
                "--order": order is not None,
                "--segment": segment is not None,
                "--memory": memory is not None,
                "--emptied": emptied is not None,
                "--mixing": mixing,
                "--greedy": greedy,
                "--monitor": monitor is not None,
                "--monitor-steps": monitor_steps is not None,
            },
        )
        asked = {name: value for name, value in given.items() if value is not None}
        if layers is not None:
            asked |= {"encoder_layers": layers, "decoder_layers": asked.pop("layers")}
        if batch_size is not None:
            asked["batch_tokens"] = asked.pop("batch_size")
        if source is None:
            raise OptionError("translation learns from pairs: name with --source what --real translates")
        of_pairs = TrainTranslationOptions(
            source=source,
            real=real,
            out=out,
            valid_source=valid_source,
            valid=valid,
            hold_back=0 if hold_back is None else hold_back,
            preset=preset,
            settings=asked,
            byte_pairs=byte_pairs,
            lowercase=lowercase,
            like=like,
            seed=seed,
            column=column,
            workers=workers,
            device=device,
            json=json,
            quiet=quiet,
        )
        raise typer.Exit(run_train_translation(of_pairs))
    from textassay.cli.train import TrainOptions, run_train

    _refuse(model, {"--source": source, "--valid-source": valid_source, "--hold-back": hold_back is not None})
    options = TrainOptions(
        model=model,
        real=real,
        out=out,
        valid=valid,
        preset=preset,
        settings={name: value for name, value in given.items() if value is not None},
        auto_batch=auto_batch,
        tokenizer=tokenizer,
        byte_pairs=byte_pairs,
        lowercase=lowercase,
        vocabulary_size=vocabulary_size,
        min_count=min_count,
        like=like,
        max_tokens=max_tokens,
        window=window,
        fraction=fraction,
        seed=seed,
        monitor=monitor,
        monitor_steps=monitor_steps,
        monitor_sentences=monitor_sentences,
        contexts=contexts,
        valid_contexts=valid_contexts,
        context_count=context_count,
        column=column,
        workers=workers,
        device=device,
        json=json,
        quiet=quiet,
    )
    if model in ADVERSARIAL:
        if window is not None and length is not None:
            raise OptionError("--window T says how long sentences are: leave --length out")
        from textassay.cli.adversarial_kind import TrainAdversarialOptions
        from textassay.cli.train_adversarial import run_train_adversarial

        asked_length = length if window is None else window
        against = TrainAdversarialOptions(
            options,
            rounds=rounds,
            rounds_rate=rounds_rate,
            keep=keep or "last",
            length=asked_length,
            oracle=oracle,
            vectors=vectors,
        )
        raise typer.Exit(run_train_adversarial(against))
    _refuse(model, of_rounds)
    raise typer.Exit(run_train(options))


def _refuse(model: str, given: Mapping[str, object]) -> None:
    """Raise for the first option that was given and that the model does not have."""
    for name, value in given.items():
        if value:
            raise OptionError(f"{model} has no {name}")
