"""Fluent text of known probability: what a pretrained language model draws at a temperature or a top-p.

A text has exactly so many tokens of the model, none of them special. Its log-probability is that of the drawn tokens,
under all `SETTINGS` at once, noted while they are drawn. Nothing else would be exact: other tokens may give the same
string, and read again as a whole, the rounding of the network moves that of a text of 24 tokens by about 0.3 nats in
bfloat16, and tokens across the border of a top-p. So texts from elsewhere have none.

Drawn tokens are kept in the user's cache folder: a run that was killed goes on, and settings share what they read.
"""

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError, unknown_name
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import check_sample
from textassay.prior.cache import ColumnCache
from textassay.prior.catalog import SMOLLM2
from textassay.prior.language_model import LanguageModel, language_model
from textassay.seeding import uniforms
from textassay_lab.training.backend import single_threaded

if TYPE_CHECKING:
    from torch import Tensor

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

COLUMN = "drawn/log-probs"  # of the texts of `DrawnAt.sample`, shape (N, n_settings), in nats
N_TOKENS = 24
_TOGETHER = 50  # texts that are drawn together, always as many: fewer, and more, take longer


@dataclass(frozen=True)
class Setting:
    """How the next token is chosen: at a temperature, or among the fewest likeliest ones that have `top_p`."""

    temperature: float = 1.0
    top_p: float = 1.0

    @property
    def name(self) -> str:
        """Such as ``temperature 0.9`` or ``top-p 0.95``."""
        return f"temperature {self.temperature:g}" if self.top_p == 1 else f"top-p {self.top_p:g}"

    def log_probs(self, logits: "Tensor") -> "Tensor":
        """Return the log-probability of each token, -inf where it is never drawn, both shape (batch, n_types)."""
        import torch

        from textassay_lab.generator.sampling import nucleus

        kept = logits / self.temperature if self.top_p == 1 else nucleus(logits, self.top_p)
        return torch.log_softmax(kept, dim=1)


AS_IT_IS = Setting()
SETTINGS = (
    AS_IT_IS,
    *(Setting(temperature=temperature) for temperature in (0.97, 0.9, 0.8)),
    *(Setting(top_p=top_p) for top_p in (0.98, 0.95, 0.9)),
)


@dataclass(frozen=True)
class DrawnAt:
    """A pretrained language model at one of `SETTINGS`; a `ScoredGenerator`.

    `model`: as in `textassay.prior.language_model.language_model`.
    """

    setting: Setting
    n_tokens: int = N_TOKENS
    model: str = SMOLLM2

    def __post_init__(self) -> None:
        if self.setting not in SETTINGS:
            raise unknown_name("setting", self.setting.name, [setting.name for setting in SETTINGS])

    @property
    def name(self) -> str:
        """Such as ``smollm2 at temperature 0.9, 24 tokens``."""
        return f"{self.model} at {self.setting.name}, {self.n_tokens} tokens"

    def sample(self, n: int, *, seed: int) -> Corpus:
        """Return `n` texts, split at white space, with the column `COLUMN`; see `ScoredGenerator.sample`."""
        tokens, log_probs = self.draws(n, seed=seed)
        texts = language_model(self.model).decode(tokens)
        return replace(Corpus.from_texts(texts, tokenizer="whitespace"), columns={COLUMN: log_probs})

    def log_prob(self, corpus: Corpus) -> FloatArray:
        """Return the log-probability of the drawn tokens of each text, shape (N,), in nats; -inf if never drawn."""
        if COLUMN not in corpus.columns:
            raise InputError(f"{self.name}: only texts that were drawn here have a log-probability")
        return np.asarray(corpus.columns[COLUMN][:, SETTINGS.index(self.setting)], dtype=np.float64)

    def draws(self, n: int, *, seed: int) -> tuple[IntArray, FloatArray]:
        """Return tokens, shape (n, n_tokens), and their log-probabilities under `SETTINGS`, (n, n_settings)."""
        check_sample(n, seed=seed, generator=self.name)
        model = language_model(self.model)
        cache = ColumnCache(f"drawn {model.key} {self.n_tokens} {SETTINGS}", self.n_tokens + len(SETTINGS))
        blocks = [np.arange(begin, begin + _TOGETHER) for begin in range(0, n, _TOGETHER)]
        keys = [[self._key(seed, row) for row in block.tolist()] for block in blocks]
        known = cache.get([key for of_block in keys for key in of_block])

        def draw(place: int) -> None:
            found = dict(zip(keys[place], _draw(model, self.setting, self.n_tokens, seed, blocks[place]), strict=True))
            cache.put(found)
            known.update(found)

        missing = [place for place, of_block in enumerate(keys) if not all(key in known for key in of_block)]
        if missing:
            _ = model.loaded  # once, before threads need it
        parallel_map(draw, missing)
        rows = np.array([known[key] for of_block in keys for key in of_block][:n])
        return rows[:, : self.n_tokens].astype(np.int64), rows[:, self.n_tokens :]

    def _key(self, seed: int, row: int) -> bytes:
        return blake2b(f"{self.setting} {seed} {row}".encode(), digest_size=16).digest()


def _draw(model: LanguageModel, setting: Setting, n_tokens: int, seed: int, rows: IntArray) -> FloatArray:
    """Return the tokens of texts number `rows`, then their log-probabilities under `SETTINGS`, a row a text."""
    import torch
    from transformers import DynamicCache

    from textassay_lab.generator.sampling import inverted

    tokenizer, network = model.loaded
    device = next(network.parameters()).device
    n_types = network.config.vocab_size
    never = torch.tensor([*tokenizer.added_tokens_decoder, *range(len(tokenizer), n_types)], device=device)
    last = torch.full((len(rows), 1), model.begin, device=device)
    cache, tokens = DynamicCache(), []
    sums = torch.zeros((len(rows), len(SETTINGS)), dtype=torch.float64)
    with single_threaded(), torch.inference_mode():
        for position in range(n_tokens):
            logits = network(input_ids=last, past_key_values=cache, use_cache=True).logits[:, -1].float()
            under = [each.log_probs(logits.index_fill(1, never, -torch.inf)) for each in SETTINGS]
            chance = torch.from_numpy(uniforms(seed, rows, position)).to(device)
            last = inverted(under[SETTINGS.index(setting)], chance)[:, None]
            sums += torch.cat([each.gather(1, last) for each in under], dim=1).double().cpu()
            tokens.append(last.cpu())
    return np.concatenate([torch.cat(tokens, dim=1).numpy(), sums.numpy()], axis=1)
