"""Work that several metrics share, such as the n-gram matches of all orders of BLEU, done once for a pair of texts."""

from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from textassay.corpus.corpus import Corpus
from textassay.embedding.encoder import Encoder

P = ParamSpec("P")
T = TypeVar("T")


class Shared:
    """Results of `compute_once`, by function and arguments; threads may use one together."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry] = {}
        self._lock = Lock()

    def get(self, function: Callable[..., T], args: tuple[object, ...], settings: dict[str, object]) -> T:
        """Return ``function(*args, **settings)``, computed at the first call."""
        arguments = (*args, *settings.values())
        key = (function, tuple(settings), *map(_key, arguments))
        with self._lock:
            entry = self._entries.setdefault(key, _Entry(arguments))
        with entry.lock:
            if not entry.is_done:
                entry.result, entry.is_done = function(*args, **settings), True
        result: T = entry.result
        return result

    def forget(self, corpus: Corpus) -> None:
        """Drop everything that was computed from `corpus`, or from a part of it that was computed from it."""
        with self._lock:
            gone = {corpus.fingerprint}
            gone |= {part for entry in self._entries.values() if entry.is_from(gone) and (part := entry.part)}
            self._entries = {key: entry for key, entry in self._entries.items() if not entry.is_from(gone)}

    def __reduce__(self) -> tuple[type["Shared"], tuple[()]]:
        """Return what makes an empty one: in another process, results are computed anew."""
        return Shared, ()

    @contextmanager
    def used(self) -> Iterator[None]:
        """Let `compute_once` keep its results here."""
        token = _ACTIVE.set(self)
        try:
            yield
        finally:
            _ACTIVE.reset(token)


class _Entry:
    def __init__(self, arguments: tuple[object, ...]) -> None:
        self.arguments = arguments  # kept alive, since keys may hold their addresses
        self.lock = Lock()
        self.is_done = False
        self.result: Any = None

    @property
    def part(self) -> str | None:
        return self.result.fingerprint if isinstance(self.result, Corpus) else None

    def is_from(self, fingerprints: Collection[str]) -> bool:
        return any(isinstance(each, Corpus) and each.fingerprint in fingerprints for each in self.arguments)


_ACTIVE: ContextVar[Shared | None] = ContextVar("textassay_shared", default=None)


def compute_once(function: Callable[P, T], *args: P.args, **settings: P.kwargs) -> T:
    """Return ``function(*args, **settings)``; inside ``with Shared().used()`` it is computed once for these arguments.

    Corpora are told apart by their texts, vocabularies and columns; a metric gets columns only if it reads them.
    """
    shared = _ACTIVE.get()
    return function(*args, **settings) if shared is None else shared.get(function, args, dict(settings))


def _key(value: object) -> Hashable:
    if isinstance(value, Corpus):
        return (value.fingerprint, id(value.vocabulary), value.columns_fingerprint)
    if isinstance(value, Encoder):
        return value.name
    if hasattr(value, "prob_real"):  # a discriminator
        return (getattr(value, "name", ""), getattr(value, "features", ""))
    return value if isinstance(value, Hashable) else id(value)
