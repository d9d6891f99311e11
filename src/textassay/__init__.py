"""textassay: how far generated text is from real text, which generator is closer, and how sure you can be."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textassay.corpus.corpus import Corpus, corpora_from_texts
    from textassay.estimate import Estimate, Interval

__all__ = ["Corpus", "Estimate", "Interval", "corpora_from_texts"]

_HOMES = {
    "Corpus": "textassay.corpus.corpus",
    "Estimate": "textassay.estimate",
    "Interval": "textassay.estimate",
    "corpora_from_texts": "textassay.corpus.corpus",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that importing the package stays fast."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'textassay' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
