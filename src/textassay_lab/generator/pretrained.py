"""Any Hugging Face causal language model, by its name or its folder, as a language model; needs the extra ``neural``.

Tokens that cannot stand in a sentence (beginning, padding, ids without a token) are never drawn; the others share their
probability.

No file of a model can run code: weights are read from safetensors files only, and models with Python files of their own
are refused. So are models with missing weights, and models that attend to the tokens they are to predict.

Draws: see `textassay_lab.generator.sampling`. Keys and values of earlier tokens are cached.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
import numpy.typing as npt
import torch

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS, SPECIAL_TOKENS, UNK, Vocabulary
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import resolve_tokenizer
from textassay.embedding.model_files import content_hash
from textassay.errors import InputError, OptionError, is_out_of_memory
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import check_sample, check_temperature, prefix_of_each, sentence_sums, tokens_in
from textassay.prior.model_folder import load_config, load_network, load_tokenizer, one_line, pretrained_folder
from textassay.seeding import stream
from textassay_lab.generator.objective import padded
from textassay_lab.generator.sampling import Beginnings, Choice, draw_sentences
from textassay_lab.generator.scoring import log_probs_of
from textassay_lab.training.backend import require_neural, single_threaded, training_device

if TYPE_CHECKING:
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]

_TOKENS_TOGETHER = {"cpu": 1024}  # tokens scored at once, by device: each needs the logits of all types
_ELSEWHERE = 16384
_COLDEST = 1e-30  # lower temperatures would overflow; draws are greedy long before
_PRECISIONS = ("float32", "bfloat16")


class PretrainedModel:
    """A causal language model of transformers; a `LanguageModel` over the tokens of its own tokeniser.

    A sentence stands between the model's beginning token, or its end token where it has none (as GPT-2), and its end
    token. The probability is that of the tokenisation by the model's tokeniser, a lower bound of that of the text,
    since other tokens may give the same text. Bytes that are not UTF-8 are U+FFFD in drawn texts.

    `precision`: "float32" or "bfloat16", for the network; sums are float64; `form`: the model's tokens and vocabulary:
    ``form.corpus(texts)`` makes texts into a corpus to score, or a prefix.
    """

    def __init__(self, name_or_path: str | Path, *, batch_size: int = 32, max_length: int = 200) -> None:
        for setting, value in (("batch_size", batch_size), ("max_length", max_length)):
            if value < 1:
                raise OptionError(f"{setting} must be at least 1, got {value}")
        self.batch_size = batch_size
        self.max_length = max_length
        self.precision = "float32"
        self._name_or_path = str(name_or_path)
        require_neural("the pretrained generator")
        self._folder = pretrained_folder(self._name_or_path)
        self._config = load_config(self._folder)
        self._tokens = load_tokens(self._folder, self._config)
        self.form = self._tokens.form
        self._lock = Lock()
        self._loaded: tuple[object, _Network] | None = None

    @cached_property
    def name(self) -> str:
        """The model's name and the start of the hash of its files, such as ``pretrained(gpt2:1a2b3c4d)``."""
        title = self._folder.resolve().name if Path(self._name_or_path).expanduser().is_dir() else self._name_or_path
        return f"pretrained({title}:{self._hash[:8]})"

    @property
    def vocabulary(self) -> Vocabulary:
        return self._tokens.vocabulary

    @property
    def tokenizer(self) -> str:
        """Name of its tokeniser; models with the same one share the name."""
        return self._tokens.name

    @property
    def longest(self) -> int | None:
        """Most tokens of a sentence; None without a limit."""
        positions = getattr(self._config.get_text_config(), "max_position_embeddings", None)
        return positions - 1 if isinstance(positions, int) and positions > 0 else None

    @property
    def n_parameters(self) -> int:
        return sum(weight.numel() for weight in self._network().module.parameters())

    def fit(self, train: Corpus, valid: Corpus | None = None) -> NoReturn:
        raise OptionError(f"{self.name} is pretrained and cannot be fitted")

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
        """Return `n` sentences; see `Generator.sample`. There must be no `context`."""
        settings: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        check_sample(n, seed=seed, **settings, prefix=prefix, context=context, generator=self.name)
        beginnings = Beginnings.nothing(n)
        if prefix is not None:
            beginnings = Beginnings(self._own_tokens(prefix), prefix.offsets, prefix_of_each(prefix, n))
        limit = min(self.max_length, self.longest or self.max_length)
        with self._memory_explained():
            network = self._network()
            tokens, lengths = draw_sentences(
                network,
                Choice(temperature, top_k, top_p),
                beginnings,
                key=int(stream(seed, "pretrained", self._hash, repr(float(temperature))).integers(2**63)),
                limit=limit,
                together=self.batch_size,
            )
        n_cut = int(np.count_nonzero(lengths >= limit))
        if n_cut > 0:
            warnings.warn(f"{self.name}: {n_cut} of {n} samples were cut at {limit} tokens", stacklevel=2)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        texts = self._tokens.decode(tokens, offsets)
        return Corpus(tokens, offsets, self.vocabulary, texts, tokenizer=self.tokenizer)

    def log_prob(self, corpus: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each sentence, its end included, shape (N,), in nats."""
        return sentence_sums(self.token_log_probs(corpus, temperature=temperature), corpus)

    def token_log_probs(self, corpus: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each token and of each end, shape (T + N,); see `LanguageModel`."""
        check_temperature(temperature, generator=self.name)
        tokens, offsets = self._own_tokens(corpus), corpus.offsets
        network = self._network()
        scores = np.empty(len(tokens) + len(corpus))

        def score(rows: IntArray) -> None:
            inputs, targets = padded(tokens, offsets, rows)
            inside = targets != PAD
            with single_threaded(), torch.no_grad():
                logits = network.logits(network.read(inputs, inside), temperature)
                wanted = torch.from_numpy(targets[inside]).to(logits.device)
                values = log_probs_of(logits, wanted).cpu().numpy()
            places = (offsets[rows] + rows)[:, None] + np.arange(inside.shape[1])
            scores[places[inside]] = values

        with self._memory_explained():
            parallel_map(score, self._batches(corpus.lengths, network))
        return scores

    def next_log_probs(self, prefixes: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each token after each prefix, shape (B, V); see `LanguageModel`."""
        check_temperature(temperature, generator=self.name)
        tokens, offsets = self._own_tokens(prefixes), prefixes.offsets
        network = self._network()
        scores = np.empty((len(prefixes), len(self.vocabulary)))

        def score(rows: IntArray) -> None:
            inputs, _ = padded(tokens, offsets, rows)
            last = np.arange(inputs.shape[1]) == prefixes.lengths[rows][:, None]
            with single_threaded(), torch.no_grad():
                logits = network.logits(network.read(inputs, last), temperature)
                scores[rows] = torch.log_softmax(logits.double(), 1).cpu().numpy()

        with self._memory_explained():
            parallel_map(score, self._batches(prefixes.lengths, network))
        return scores

    def next_vectors(self, tokens: IntArray) -> "Tensor":
        """Return the network's logits after the first 0 to L tokens of each row; see `BatchReader`."""
        self._check_length(tokens.shape[1])
        inputs = np.concatenate((np.full((len(tokens), 1), SOS), tokens), axis=1)
        with self._memory_explained(), torch.no_grad():
            logits = self._network().read(inputs, np.ones(inputs.shape, dtype=np.bool_))
        return logits.view(*inputs.shape, -1)

    def next_logits(self, vectors: "Tensor") -> "Tensor":
        """Return the logits of the next token, (R, V), float32; see `BatchReader`."""
        with torch.no_grad():
            return self._network().logits(vectors)

    def continued(
        self, prefixes: IntArray, n_tokens: int, *, seed: int, temperature: float = 1.0, ends: bool = False
    ) -> tuple[TokenArray, IntArray]:
        """Return prefixes with their continuations, and lengths; see `BatchReader`."""
        check_sample(max(len(prefixes), 1), seed=seed, temperature=temperature, generator=self.name)
        n, length = prefixes.shape
        self._check_length(length + n_tokens)
        offsets = np.arange(n + 1, dtype=np.int64) * length
        with self._memory_explained():
            network = self._network()
            return draw_sentences(
                network,
                Choice(temperature, ends=ends),
                Beginnings(prefixes.reshape(-1).astype(np.int32), offsets, np.arange(n)),
                key=int(stream(seed, "pretrained", self._hash, repr(float(temperature))).integers(2**63)),
                limit=length + n_tokens,
                together=self.batch_size,
            )

    def _check_length(self, length: int) -> None:
        if self.longest is not None and length > self.longest:
            raise InputError(f"{self.name} reads at most {self.longest} tokens, got sequences of {length}")

    @cached_property
    def _hash(self) -> str:
        return content_hash(self._folder)

    def _own_tokens(self, corpus: Corpus) -> TokenArray:
        """Return the tokens of a corpus in the model's own form, shape (T,), as ids of `vocabulary`."""
        if corpus.tokenizer.split("+")[0] != self.tokenizer:
            raise InputError(
                f"{self.name} reads its own tokens ({self.tokenizer}), got {corpus.tokenizer}: "
                "make the corpus with its form.corpus(texts)"
            )
        if self.longest is not None and len(corpus) > 0 and int(corpus.lengths.max()) > self.longest:
            number = int(np.argmax(corpus.lengths > self.longest))
            raise InputError(
                f"{self.name} reads at most {self.longest} tokens, but sentence {number + 1} has "
                f"{corpus.lengths[number]}: shorten it"
            )
        tokens = tokens_in(self.vocabulary, corpus, generator=self.name)
        unknown = np.flatnonzero(self._tokens.ids[tokens] < 0)
        if len(unknown) > 0:
            number = int(np.searchsorted(corpus.offsets, unknown[0], side="right"))
            raise InputError(f"{self.name}: sentence {number} holds a token that the model does not know")
        return tokens

    def _batches(self, lengths: IntArray, network: "_Network") -> list[IntArray]:
        """Return the sentences of each batch: similar lengths together, and not too many tokens."""
        most = _TOKENS_TOGETHER.get(network.device.type, _ELSEWHERE)
        order = np.argsort(lengths, kind="stable")
        batches: list[IntArray] = []
        start = 0
        while start < len(order):
            chosen = lengths[order[start : start + self.batch_size]] + 1
            fits = int(np.count_nonzero(chosen * np.arange(1, len(chosen) + 1) <= most))
            batches.append(order[start : start + max(fits, 1)])
            start += max(fits, 1)
        return batches

    @contextmanager
    def _memory_explained(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise OptionError(
                f"{self.name}: out of memory with batch_size {self.batch_size} in {self.precision}: "
                "a smaller batch_size, fewer workers or bfloat16 need less"
            ) from error

    def _network(self) -> "_Network":
        """Return the network in `precision`, on the device that `textassay.execution.threads.device` names."""
        if self.precision not in _PRECISIONS:
            raise OptionError(f"precision must be {' or '.join(_PRECISIONS)}, got {self.precision}")
        device = training_device()
        with self._lock:
            if self._loaded is None or self._loaded[0] != (device, self.precision):
                self._loaded = None  # before another takes its place in memory
                module = load_module(self._folder, device, self.precision, self._tokens)
                self._loaded = ((device, self.precision), _Network(module, device, self._tokens))
            return self._loaded[1]


class PretrainedTokens:
    """Tokens of a Hugging Face tokeniser; a `SubwordTokenizer`.

    `begin`: the id that stands before each sentence; `ends`: ids that end a sentence, at least one; `vocabulary`: the
    special tokens, then all others that can stand in a sentence; `ids`: the model's id for each token of `vocabulary`,
    shape (V,); -1 where it has none; `drawable`: which tokens of `vocabulary` the model can draw, shape (V,), the end
    included.
    """

    def __init__(self, tokenizer: Any, config: Any, ends: int | Sequence[int] | None) -> None:
        self._tokenizer = tokenizer
        for end in (ends, tokenizer.eos_token_id, getattr(config, "eos_token_id", None)):
            self.ends: tuple[int, ...] = (end,) if isinstance(end, int) else tuple(end or ())
            if self.ends:
                break
        else:
            raise InputError("it has no end token")
        begins = (tokenizer.bos_token_id, getattr(config, "bos_token_id", None), self.ends[0])
        self.begin = int(next(number for number in begins if number is not None))
        own = tokenizer.convert_ids_to_tokens(list(range(max(config.vocab_size, len(tokenizer)))))
        special = {tokenizer.pad_token_id: PAD, tokenizer.unk_token_id: UNK, self.begin: SOS}
        special.update(dict.fromkeys(self.ends, EOS))
        ours = [SPECIAL_TOKENS[special[number]] if number in special else token for number, token in enumerate(own)]
        usable = [
            token is not None and number < config.vocab_size and (number in special or token not in SPECIAL_TOKENS)
            for number, token in enumerate(ours)
        ]
        self.types = tuple(token if usable[number] else SPECIAL_TOKENS[UNK] for number, token in enumerate(ours))
        self.vocabulary = Vocabulary(token for number, token in enumerate(ours) if usable[number])
        self.ids = np.full(len(self.vocabulary), -1, dtype=np.int64)
        places = self.vocabulary.encode(self.types)
        for number in reversed(range(len(ours))):  # of several, the first
            if usable[number]:
                self.ids[places[number]] = number
        self.ids[EOS] = self.ends[0]
        self.drawable = self.ids >= 0
        self.drawable[[PAD, SOS]] = False

    @cached_property
    def form(self) -> TextForm:
        return TextForm(resolve_tokenizer(self), self.vocabulary)

    @cached_property
    def inputs(self) -> IntArray:
        """The id that the model reads for each token of `vocabulary`, shape (V,); `begin` where it has none."""
        ids = np.where(self.ids < 0, self.begin, self.ids)
        ids[[PAD, SOS]] = self.begin
        return ids

    @cached_property
    def ordinary(self) -> tuple[int, ...]:
        """The model's ids of all tokens that are not special, at least one."""
        return tuple(self.ids[len(SPECIAL_TOKENS) :].tolist())

    @cached_property
    def name(self) -> str:
        """Number of tokens and a hash: ``bpe-50257-1a2b3c4d`` where tokens are bytes, else ``hf-...``.

        Models with the same tokeniser have the same name here.
        """
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        rules = {} if backend is None else json.loads(backend.to_str())
        parts = {part: rules.get(part) for part in ("normalizer", "pre_tokenizer", "model", "decoder")}
        document = json.dumps([self.types, parts], sort_keys=True)
        kind = "bpe" if (parts["decoder"] or {}).get("type") == "ByteLevel" else "hf"
        return f"{kind}-{len(self.types)}-{hashlib.blake2b(document.encode(), digest_size=4).hexdigest()}"

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of one sentence."""
        return [self.types[number] for number in self.encode([text])[0].tolist()]

    def encode(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int32], IntArray]:
        """Return the model's ids of all tokens, shape (T,), and how many each sentence has, shape (N,).

        Special tokens in a text are read as any other text.
        """
        rows: list[list[int]] = []
        if texts:
            rows = self._tokenizer(
                list(texts),
                add_special_tokens=False,
                split_special_tokens=True,
                return_attention_mask=False,
                verbose=False,
            )["input_ids"]
        counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        return np.fromiter((number for row in rows for number in row), dtype=np.int32, count=int(counts.sum())), counts

    def decode(self, tokens: npt.NDArray[np.int32], offsets: IntArray) -> list[str]:
        """Return the texts of sentences of ids of `vocabulary`, shapes (T,) and (N + 1,)."""
        ids = self.ids[tokens].tolist()
        sentences = [ids[start:stop] for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
        return list(self._tokenizer.batch_decode(sentences, clean_up_tokenization_spaces=False))


class _Network:
    """The network for `draw_sentences`; in place of hidden states it returns logits over the model's ids."""

    def __init__(self, module: "torch.nn.Module", device: "torch.device", tokens: PretrainedTokens) -> None:
        self.module: Any = module
        self.device = device
        self._ids = torch.from_numpy(tokens.inputs).to(device)
        self._blocked = torch.from_numpy(np.where(tokens.drawable, 0.0, -math.inf)).float().to(device)
        self._ends = torch.tensor(tokens.ends, device=device)

    def read(self, inputs: IntArray, wanted: npt.NDArray[np.bool_]) -> "Tensor":
        """Return the logits at the `wanted` places of whole sentences, both (B, L), shape (n_wanted, V')."""
        tokens = self._ids[torch.from_numpy(inputs).to(self.device)]
        inside = torch.from_numpy(inputs != PAD).to(self.device)  # padding stands behind and is masked
        logits = self.module(tokens, attention_mask=inside.long(), use_cache=False).logits
        return cast("Tensor", logits[torch.from_numpy(wanted).to(self.device)])

    def begin(self, n: int) -> "tuple[_Cache]":
        from transformers import DynamicCache

        return (_Cache(DynamicCache()),)

    def step(self, state: "tuple[_Cache]", tokens: "Tensor", position: int) -> "tuple[Tensor, tuple[_Cache]]":
        """Return the logits after one more token, shape (B, V'), and the cache with it."""
        logits = self.module(self._ids[tokens][:, None], past_key_values=state[0].cache, use_cache=True).logits
        return logits[:, -1], state

    def logits(self, vectors: "Tensor", temperature: float = 1.0) -> "Tensor":
        """Return the logits at a temperature over our vocabulary, float32, -inf for excluded types, (B, V)."""
        own = vectors.float() if temperature == 1 else vectors.float() / max(temperature, _COLDEST)
        ours = own.index_select(1, self._ids).add_(self._blocked)
        if len(self._ends) > 1:
            ours[:, EOS] = own.index_select(1, self._ends).logsumexp(1)
        return ours


class _Cache:
    """Keys and values of the sentences that are being drawn, as one part of a state."""

    def __init__(self, cache: Any) -> None:
        self.cache = cache

    def index_select(self, dimension: int, rows: "Tensor") -> "_Cache":
        """Keep only the sentences of `rows`."""
        self.cache.batch_select_indices(rows)
        return self


def load_tokens(folder: Path, config: Any) -> PretrainedTokens:
    """Return the tokens of a model; raises `InputError` where its tokeniser cannot be read or has no end token."""
    tokenizer = load_tokenizer(folder)
    with one_line(folder, "its tokenizer"):
        from transformers import GenerationConfig

        ends = None
        if (folder / "generation_config.json").exists():
            ends = GenerationConfig.from_pretrained(folder, local_files_only=True).eos_token_id
        return PretrainedTokens(tokenizer, config.get_text_config(), ends)


def load_module(folder: Path, device: "torch.device", precision: str, tokens: PretrainedTokens) -> "torch.nn.Module":
    """Return the network on a device; raises `InputError` where it is no whole causal language model."""
    module = load_network(folder, device, precision)
    with one_line(folder, "the model"):
        if (problem := _problem(module, tokens)) is not None:
            raise InputError(problem)
    return module  # type: ignore[no-any-return]


def _problem(module: Any, tokens: PretrainedTokens) -> str | None:
    """Return why a network cannot score or draw, None if it can, from its outputs for four tokens."""
    import torch
    from transformers import DynamicCache

    first, second = tokens.ordinary[0], tokens.ordinary[-1]
    read = torch.tensor([[tokens.begin, first, second, first], [tokens.begin, first, second, second]])
    read = read.to(next(module.parameters()).device)
    with torch.no_grad():
        one, other = (module(row[None], use_cache=False).logits[0].float() for row in read)
        cache = DynamicCache()
        steps = [module(read[:1, [place]], past_key_values=cache, use_cache=True).logits[0, 0] for place in range(4)]
    rounding = 1e-3 if next(module.parameters()).dtype == torch.float32 else 0.1
    near = rounding * float(one.abs().max())
    if float((one - other)[:3].abs().max()) > near:
        return "it is no causal language model: it attends to the tokens it is to predict"
    if float((one - torch.stack(steps).float()).abs().max()) > near:
        return "its logits token by token differ from those in one pass: its state is not a cache of keys and values"
    return None
