"""Translation: a model of what follows a source sentence; trained on pairs, it scores, searches and draws translations.

Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017; He et al., "Quantifying Exposure Bias for Neural
Language Generation", 2019, for the settings (`textassay.generator.translation_presets`).
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.parallel import ParallelText
from textassay.corpus.vocabulary import Vocabulary
from textassay.errors import InputError, OptionError
from textassay.generator.base import check_sample, check_temperature, check_train, not_fitted, sentence_sums, tokens_in
from textassay.generator.fitted import Fitted
from textassay.generator.sampling import Choice
from textassay.generator.translation_batches import pair_batch, token_batches
from textassay.generator.translation_network import TranslationNetwork
from textassay.generator.translation_scoring import pair_loss, pair_scores, prefix_scores
from textassay.seeding import stream
from textassay.training import loop
from textassay.training.backend import require_neural, threads, training_device
from textassay.training.history import Epoch, History, Reading, Step
from textassay.training.processes import launched
from textassay.training.recipe import Recipe

__all__ = ["TranslationModel"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]


class TranslationModel:
    """An encoder-decoder transformer, trained from scratch. Needs the extra ``neural``.

    It is a language model of translations that asks for the source: `context` where it draws, `source` where it scores.

    Parameters
    ----------
    width
        Numbers in a word vector, a multiple of `heads`.
    inner
        Width of the inner layers, at least 1.
    encoder_layers, decoder_layers, heads
        At least 1.
    dropout, smoothing
        Shares, at least 0 and below 1: of what is left out in training, and of probability that is spread evenly over
        all types in the loss.
    batch_tokens
        Tokens of a batch, on its longer side, padding and ends counted, at least 1.
    recipe
        How to train.
    seed
        With the training text, decides everything random in training.

    Attributes
    ----------
    needs_source
        What looks at free text alone, such as EB-bleu, refuses this model.
    precision
        ``float32`` or ``bfloat16``: what searching and scoring compute in.
    record, history
        As in `textassay.generator.network.NetworkLanguageModel`.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    OptionError
        If a setting is out of range.
    """

    kind: ClassVar[str] = "translation"
    needs_source: ClassVar[bool] = True

    def __init__(
        self,
        width: int = 256,
        *,
        inner: int = 1024,
        encoder_layers: int = 3,
        decoder_layers: int = 3,
        heads: int = 4,
        dropout: float = 0.1,
        smoothing: float = 0.1,
        batch_tokens: int = 4096,
        recipe: Recipe,
        seed: int = 0,
    ) -> None:
        require_neural("the translation generator")
        counts = {
            "inner": (inner, 1),
            "encoder_layers": (encoder_layers, 1),
            "decoder_layers": (decoder_layers, 1),
            "heads": (heads, 1),
            "batch_tokens": (batch_tokens, 1),
            "seed": (seed, 0),
        }
        for setting, (value, least) in counts.items():
            if value < least:
                raise OptionError(f"{setting} must be at least {least}, got {value}")
        if width < 1 or width % heads != 0:
            raise OptionError(f"width must be a multiple of heads, {heads}, got {width}")
        for setting, share in (("dropout", dropout), ("smoothing", smoothing)):
            if not 0 <= share < 1:
                raise OptionError(f"{setting} must be at least 0 and below 1, got {share}")
        self.network = TranslationNetwork(width, inner, encoder_layers, decoder_layers, heads, dropout, smoothing)
        self.batch_tokens = batch_tokens
        self.recipe = recipe
        self.seed = seed
        self.precision = "float32"
        self.history = History()
        self.record: dict[str, Any] = {}
        self._fitted: Fitted | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What its constructor was called with, JSON-ready."""
        own = {"batch_tokens": self.batch_tokens, "seed": self.seed, "recipe": asdict(self.recipe)}
        return {**asdict(self.network), **own}

    @property
    def name(self) -> str:
        """Canonical name with the settings that matter, such as ``translation(width=256, layers=3+3)``."""
        layers = f"{self.network.encoder_layers}+{self.network.decoder_layers}"
        more = "" if self.precision == "float32" else f", precision={self.precision}"
        return f"{self.kind}(width={self.network.width}, layers={layers}{more})"

    @property
    def vocabulary(self) -> Vocabulary:
        """Of source and translation."""
        return self.require().vocabulary

    @property
    def tokenizer(self) -> str:
        """Name of the tokeniser of the training text."""
        return self.require().tokenizer

    @property
    def n_parameters(self) -> int:
        """Numbers that were learnt."""
        return sum(weight.numel() for weight in self.require().weights.values())

    def fit(
        self,
        train: ParallelText,
        valid: ParallelText | None = None,
        *,
        checkpoint: Path | None = None,
        checkpoint_seconds: float = 120.0,
        monitors: Mapping[str, Callable[[int], float | None]] | None = None,
        progress: Callable[[Step], None] | None = None,
    ) -> Self:
        """Learn from `train`, keep the epoch with the best likelihood of `valid` (the last without), and return itself.

        Parameters
        ----------
        train, valid
            At least one pair each, over one vocabulary.
        checkpoint, checkpoint_seconds, monitors, progress
            See `textassay.training.loop.train`. While a monitor runs, this model is as the run has it then.

        Raises
        ------
        EmptyCorpusError
            If there is no pair.
        InputError
            If a sentence holds ``<pad>``, ``<eos>`` or ``<sos>``, or training diverges.
        """
        import torch

        for what, pairs in (("training", train), ("validation", valid)):
            for corpus in () if pairs is None else (pairs.source, pairs.target):
                check_train(corpus, generator=self.name, what=what)

        def seed(purpose: str) -> int:
            return int(stream(self.seed, self.kind, purpose, train.fingerprint).integers(2**63))

        device = training_device()
        shapes = self.network.shapes(len(train.target.vocabulary))
        began = self.network.new_weights(shapes, torch.Generator().manual_seed(seed("weights")))
        weights = {name: weight.to(device).requires_grad_() for name, weight in began.items()}
        before, order = self._fitted, seed("order")
        self._fitted = Fitted(weights, train.target.vocabulary, train.target.tokenizer, changing=True)
        try:
            with threads():
                self.history = loop.train(
                    weights,
                    batches=lambda epoch: token_batches(train, self.batch_tokens, order, epoch),
                    loss=lambda rows, rng: pair_loss(self.network, weights, pair_batch(train, rows), rng),
                    score=None if valid is None else lambda: float(pair_scores(self.network, weights, valid).mean()),
                    recipe=self.recipe,
                    seed=seed("training"),
                    size=lambda rows: int(train.target.lengths[rows].sum()) + len(rows),
                    checkpoint=checkpoint,
                    checkpoint_seconds=checkpoint_seconds,
                    config={
                        "kind": self.kind,
                        **self.settings,
                        "train": train.fingerprint,
                        "valid": None if valid is None else valid.fingerprint,
                    },
                    monitors=monitors,
                    progress=progress,
                    processes=launched(),
                )
                n_threads = torch.get_num_threads()
        except BaseException:
            self._fitted = before
            raise
        for weight in weights.values():
            weight.requires_grad_(False)
        self._fitted = Fitted(weights, train.target.vocabulary, train.target.tokenizer)
        self.record = {
            "train": _told(train),
            "valid": None if valid is None else _told(valid),
            "history": asdict(self.history),
            "threads": n_threads,
            "device": device.type,
        }
        return self

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the weights."""
        return {name: weight.cpu().numpy() for name, weight in self.require().weights.items()}

    def restore(
        self,
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        vocabulary: Vocabulary,
        tokenizer: str,
        record: Mapping[str, Any],
    ) -> None:
        """Take over weights that were learnt before; raise `InputError` where they are of another network."""
        import torch

        expected = self.network.shapes(len(vocabulary))
        found = {name: tuple(array.shape) for name, array in arrays.items()}
        for name in sorted(found.keys() | expected.keys()):
            if found.get(name) != expected.get(name):
                raise InputError(
                    f"the weights do not fit the settings and a vocabulary of {len(vocabulary)} tokens: "
                    f"'{name}' must have shape {expected.get(name)}, got {found.get(name)}"
                )
        device = training_device()
        weights = {name: torch.from_numpy(arrays[name].copy()).to(device) for name in expected}
        self._fitted = Fitted(weights, vocabulary, tokenizer)
        self.record = dict(record)
        told = record["history"]
        epochs = tuple(Epoch(**epoch) for epoch in told["epochs"])
        self.history = History(epochs, tuple(Reading(**reading) for reading in told["readings"]), told["precision"])

    def require(self) -> Fitted:
        """Return what was learnt; raise `InputError` where nothing was."""
        if self._fitted is None:
            raise not_fitted(self.name)
        return self._fitted

    def pairs(self, source: Corpus | None, target: Corpus) -> ParallelText:
        """Return source and target as pairs of this model's ids.

        Raises
        ------
        OptionError
            If there is no source.
        InputError
            If there are fewer or more sources than targets.
        """
        if source is None:
            raise self._no_source()
        return ParallelText(self.known(source), self.known(target))

    def known(self, corpus: Corpus) -> Corpus:
        """Return `corpus` over the ids of this model; its words that the model lacks become ``<unk>``."""
        fitted = self.require()
        tokens_in(fitted.vocabulary, corpus, generator=self.name)
        return corpus if corpus.vocabulary is fitted.vocabulary else corpus.with_vocabulary(fitted.vocabulary)

    def sample(
        self,
        n: int,
        *,
        seed: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        prefix: Corpus | None = None,
        context: Corpus | None = None,
    ) -> Corpus:
        """Return a drawn translation of each of `n` sources, `context`; see `Generator.sample`."""
        from textassay.generator.translation_decoding import sample_translations

        check_sample(
            n, seed=seed, temperature=temperature, top_k=top_k, top_p=top_p, prefix=prefix, generator=self.name
        )
        if context is None:
            raise self._no_source()
        if len(context) != n:
            raise OptionError(f"{self.name}: context must have {n} sentences, got {len(context)}")
        return sample_translations(self, context, Choice(temperature, top_k, top_p), seed=seed, prefix=prefix)

    def translations(self, source: Corpus, *, width: int = 10) -> Corpus:
        """Return the translations that a beam of this width finds; see `textassay.generator.translation_decoding`."""
        from textassay.generator.translation_decoding import translate

        return translate(self, source, width=width).corpus

    def log_prob(self, corpus: Corpus, *, temperature: float = 1.0, source: Corpus | None = None) -> FloatArray:
        """Return the log-probability of each translation of its source, its end included, shape (N,), in nats."""
        return sentence_sums(self.token_log_probs(corpus, temperature=temperature, source=source), corpus)

    def token_log_probs(self, corpus: Corpus, *, temperature: float = 1.0, source: Corpus | None = None) -> FloatArray:
        """Return the log-probability of each token and each end, shape (T + N,); see `LanguageModel`."""
        check_temperature(temperature, generator=self.name)
        return pair_scores(self.network, self.require().at(self.precision), self.pairs(source, corpus), temperature)

    def next_log_probs(self, prefixes: Corpus, *, temperature: float = 1.0, source: Corpus | None = None) -> FloatArray:
        """Return the log-probability of each token after each beginning of a translation, (B, V)."""
        import torch

        check_temperature(temperature, generator=self.name)
        pairs = self.pairs(source, prefixes)
        last = pairs.target.lengths[:, None]
        logits = torch.from_numpy(self.prefix_logits(pairs, last)[:, 0]).double() / temperature
        return np.asarray(torch.log_softmax(logits, 1).numpy())

    def prefix_logits(self, pairs: ParallelText, positions: IntArray) -> npt.NDArray[np.float32]:
        """Return the logits of what follows the first tokens of each target, shape (B, n, V), float32.

        Parameters
        ----------
        pairs
            Over this model's vocabulary, read in one pass: a block of them.
        positions
            How many tokens of each target are read, shape (B, n) or (n,), at least 0; where a target has fewer, what
            is returned means nothing.
        """
        return prefix_scores(self.network, self.require().at(self.precision), pairs, positions)

    def _no_source(self) -> OptionError:
        return OptionError(f"{self.name} knows only what follows a source: give the sources, or use 'translate'")


def _told(pairs: ParallelText) -> dict[str, Any]:
    """Return what a text was, JSON-ready; by its target, as with other generators."""
    return {
        "fingerprint": pairs.target.fingerprint,
        "source_fingerprint": pairs.source.fingerprint,
        "sentences": len(pairs),
        "tokens": len(pairs.target.tokens),
    }
