"""Translation models: trained on pairs of sentences, they score, search and draw translations.

Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017; He et al., "Quantifying Exposure Bias for Neural
Language Generation", 2019, for the settings (`textassay.generator.translation_presets`).
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, ParallelText
from textassay.errors import OptionError, check_range
from textassay.generator.base import check_sample, check_temperature, check_train, sentence_sums, tokens_in
from textassay.generator.fitted_network import MAX_LAYERS, TrainedNetwork
from textassay.generator.lessons import Lessons
from textassay.generator.reader import Weights
from textassay.generator.sampling import Choice
from textassay.generator.translation_batches import heaviest_batch, pair_batch, token_batches
from textassay.generator.translation_decoding import BEAM, sample_translations, translate
from textassay.generator.translation_network import TranslationNetwork
from textassay.generator.translation_scoring import pair_loss, pair_scores, prefix_scores
from textassay.seeding import stream
from textassay.training import Recipe, Step

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]


class TranslationModel(TrainedNetwork):
    """An encoder-decoder transformer, trained from scratch. Needs the extra ``neural``.

    It is a language model of translations given the source: `context` in `sample`, `source` in scoring.
    """

    kind: ClassVar[str] = "translation"
    needs_source: ClassVar[bool] = True  # metrics of unconditional text, such as EB-bleu, refuse this model

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
        super().__init__(recipe, seed=seed)
        for setting, value in {"inner": inner, "heads": heads, "batch_tokens": batch_tokens}.items():
            check_range(setting, value, 1)
        check_range("encoder_layers", encoder_layers, 1, MAX_LAYERS)
        check_range("decoder_layers", decoder_layers, 1, MAX_LAYERS)
        if width < 1 or width % heads != 0:
            raise OptionError(f"width must be a multiple of heads, {heads}, got {width}")
        for setting, share in (("dropout", dropout), ("smoothing", smoothing)):
            if not 0 <= share < 1:
                raise OptionError(f"{setting} must be at least 0 and below 1, got {share}")
        self.network = TranslationNetwork(width, inner, encoder_layers, decoder_layers, heads, dropout, smoothing)
        self.batch_tokens = batch_tokens

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor, JSON-ready."""
        own = {"batch_tokens": self.batch_tokens, "seed": self.seed, "recipe": asdict(self.recipe)}
        return {**asdict(self.network), **own}

    @property
    def _title(self) -> str:
        layers = f"{self.network.encoder_layers}+{self.network.decoder_layers}"
        return f"{self.kind}(width={self.network.width}, layers={layers})"

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
        """Fit to `train`, keep the epoch with the best likelihood of `valid` (else the last), and return self."""
        import torch

        for what, pairs in (("training", train), ("validation", valid)):
            for corpus in () if pairs is None else (pairs.source, pairs.target):
                check_train(corpus, generator=self.name, what=what)

        def seed(purpose: str) -> int:
            return int(stream(self.seed, self.kind, purpose, train.fingerprint).integers(2**63))

        shapes = self.network.shapes(len(train.target.vocabulary))
        began = torch.Generator().manual_seed(seed("weights"))
        text = train.target
        with self.in_training(self.network.new_weights(shapes, began), text.vocabulary, text.tokenizer) as weights:
            training = self._train(
                weights,
                self.lessons(train, weights, seed=seed("order")),
                None if valid is None else lambda: float(pair_scores(self.network, weights, valid).mean()),
                texts={"train": train.fingerprint, "valid": None if valid is None else valid.fingerprint},
                seed=seed("training"),
                checkpoint=checkpoint,
                checkpoint_seconds=checkpoint_seconds,
                monitors=monitors,
                progress=progress,
            )
        self.record = {"train": _record(train), "valid": None if valid is None else _record(valid), **training}
        return self

    def lessons(self, train: ParallelText, weights: Weights, *, seed: int) -> Lessons:
        """Return the training batches, pairs of similar length together."""
        return Lessons(
            batches=lambda epoch: token_batches(train, self.batch_tokens, seed, epoch),
            loss=lambda rows, rng: pair_loss(self.network, weights, pair_batch(train, rows), rng),
            size=lambda rows: int(train.target.lengths[rows].sum()) + len(rows),
            heaviest=heaviest_batch(train, self.batch_tokens),
        )

    def pairs(self, source: Corpus | None, target: Corpus) -> ParallelText:
        """Return source and target as pairs of ids of this model."""
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
        check_sample(
            n, seed=seed, temperature=temperature, top_k=top_k, top_p=top_p, prefix=prefix, generator=self.name
        )
        if context is None:
            raise self._no_source()
        if len(context) != n:
            raise OptionError(f"{self.name}: context must have {n} sentences, got {len(context)}")
        return sample_translations(self, context, Choice(temperature, top_k, top_p), seed=seed, prefix=prefix)

    def translations(self, source: Corpus, *, width: int = BEAM) -> Corpus:
        """Return translations by beam search; see `textassay.generator.translation_decoding`."""
        return translate(self, source, width=width).corpus

    def log_prob(self, corpus: Corpus, *, temperature: float = 1.0, source: Corpus | None = None) -> FloatArray:
        """Return the log-probability of each translation of its source, its end included, shape (N,), in nats."""
        return sentence_sums(self.token_log_probs(corpus, temperature=temperature, source=source), corpus)

    def token_log_probs(self, corpus: Corpus, *, temperature: float = 1.0, source: Corpus | None = None) -> FloatArray:
        """Return the log-probability of each token and each end, shape (T + N,); see `LanguageModel`."""
        check_temperature(temperature, generator=self.name)
        return pair_scores(self.network, self.working_weights(), self.pairs(source, corpus), temperature)

    def next_log_probs(self, prefixes: Corpus, *, temperature: float = 1.0, source: Corpus | None = None) -> FloatArray:
        """Return the log-probability of each token after each beginning of a translation, (B, V)."""
        import torch

        check_temperature(temperature, generator=self.name)
        pairs = self.pairs(source, prefixes)
        last = pairs.target.lengths[:, None]
        logits = torch.from_numpy(self.prefix_logits(pairs, last)[:, 0]).double() / temperature
        return np.asarray(torch.log_softmax(logits, 1).numpy())

    def prefix_logits(self, pairs: ParallelText, positions: IntArray) -> npt.NDArray[np.float32]:
        """Return the logits of the next token after the first tokens of each target, shape (B, n, V), float32.

        `positions`: how many tokens of each target are read, shape (B, n) or (n,), at least 0.
        """
        return prefix_scores(self.network, self.working_weights(), pairs, positions)

    def _expected_shapes(self, weights: Weights, n_types: int) -> Mapping[str, tuple[int, ...]]:
        return self.network.shapes(n_types)

    def _no_source(self) -> OptionError:
        return OptionError(f"{self.name} needs a source for each text: set context or source, or use 'translate'")


def _record(pairs: ParallelText) -> dict[str, Any]:
    """Return the record of a training text, JSON-ready; by its target, as with other generators."""
    return {
        "fingerprint": pairs.target.fingerprint,
        "source_fingerprint": pairs.source.fingerprint,
        "sentences": len(pairs),
        "tokens": len(pairs.target.tokens),
    }
