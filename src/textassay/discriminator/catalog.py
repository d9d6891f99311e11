"""All discriminators by name, and the families among which dd chooses at each effort."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import chain
from typing import Any

from textassay.corpus.structure import TextKind
from textassay.discriminator.base import Discriminator, SklearnDiscriminator
from textassay.discriminator.boosted_trees import BoostedTreesDiscriminator
from textassay.discriminator.column_logistic import ColumnLogistic, VectorLogistic
from textassay.discriminator.family import BLEND, FamilyDiscriminator
from textassay.discriminator.letters import LettersDiscriminator
from textassay.discriminator.logistic import LogisticDiscriminator
from textassay.discriminator.ngram_classifiers import (
    NaiveBayesDiscriminator,
    RandomForestDiscriminator,
    SvmDiscriminator,
    XgboostDiscriminator,
)
from textassay.discriminator.stack import StackDiscriminator
from textassay.errors import MissingExtraError, unknown_name
from textassay.execution.threads import device_name
from textassay.extensions import extensions
from textassay.prior.catalog import is_model

AUTO = "auto"  # the family of the effort

_OWN: Mapping[str, Callable[[], Discriminator]] = {
    "boosted-trees": BoostedTreesDiscriminator,
    "language-model": ColumnLogistic,
    "letters": LettersDiscriminator,
    "logistic": LogisticDiscriminator,
    "naive-bayes": NaiveBayesDiscriminator,
    "random-forest": RandomForestDiscriminator,
    "stack": StackDiscriminator,
    "stack-quick": partial(
        StackDiscriminator, "stack-quick", skips=False, margins=False, grid=(0.1, 3.0), bends=(0.3,)
    ),
    "stack-documents": partial(StackDiscriminator, "stack-documents", max_order=3, skips=False, margin_order=2),
    "svm": SvmDiscriminator,
    "vectors": VectorLogistic,
    "xgboost": XgboostDiscriminator,
}
# With the neural ones, which the laboratory registers.
DISCRIMINATORS: Mapping[str, Callable[[], Discriminator]] = dict(
    sorted(chain(_OWN.items(), *(found.items() for found in extensions("textassay.discriminators"))))
)


@dataclass(frozen=True)
class Member:
    """A discriminator of a family, and for how much text it is one."""

    name: str
    least: int = 0  # texts of the smaller side
    needs_gpu: bool = False

    def joins(self, n_texts: int | None) -> bool:
        """Return whether it is a member for so many texts, where a GPU is not looked for; None: for plenty."""
        if n_texts is None:
            return not self.needs_gpu
        return self.least <= n_texts


@dataclass(frozen=True)
class Seen:
    """What discriminators see of texts, which decides who is a member."""

    kind: TextKind = "sentence"
    prior: str | None = None
    vectors: bool = False  # of a pretrained encoder


_PLAIN = Seen()  # tokenised sentences alone
_PLENTY = 20_000  # texts a side, from which on a network is worth its time on a GPU

_MODEL, _VECTORS = Member("language-model"), Member("vectors")
_NETWORKS = (Member("ngram-network"), Member("transformer", least=_PLENTY, needs_gpu=True))

# Effort to the members of its family, those before are preferred. Where the extra of a member is not installed the
# family does without it, and its name and signature say so.
FAMILIES: Mapping[str, Sequence[Member]] = {
    "quick": (Member("stack-quick"),),
    "default": (Member("stack"), Member("logistic")),
    "max": (Member("stack"), Member("logistic"), *_NETWORKS),
}
# The same where there is a prior; the blend is preferred to any of them.
FAMILIES_WITH_PRIOR: Mapping[str, Sequence[Member]] = {
    "quick": (Member("stack-quick"),),
    "default": (Member("stack"), Member("boosted-trees")),
    "max": (Member("stack"), Member("boosted-trees"), *_NETWORKS),
}

# The same of sentences that no tool tokenised, and of documents: letters show what tokens hide, and the blend is
# preferred to any. The stack sees the structure of documents; their many tokens tell as much with shorter n-grams, in a
# quarter of the time. With a prior of English, both are judged as tokenised sentences are.
FAMILIES_OF_RAW: Mapping[str, Sequence[Member]] = {
    "quick": (Member("stack-quick"),),
    "default": (Member("stack"), Member("letters")),
    "max": (Member("stack"), Member("letters"), *_NETWORKS),
}
FAMILIES_OF_DOCUMENTS: Mapping[str, Sequence[Member]] = {
    **FAMILIES_OF_RAW,
    "default": (Member("stack-documents"), Member("letters")),
}


def make_discriminator(name: str) -> Discriminator:
    if name not in DISCRIMINATORS:
        raise unknown_name("discriminator", name, [AUTO, *DISCRIMINATORS])
    return DISCRIMINATORS[name]()


def as_discriminator(discriminator: Any) -> Discriminator:
    """Return the discriminator for a name, a discriminator, or a classifier over texts."""
    if isinstance(discriminator, str):
        return make_discriminator(discriminator)
    if hasattr(discriminator, "new_discriminator"):  # a class of `textassay.discriminators`
        instance: Discriminator = discriminator.new_discriminator()
        return instance
    return discriminator if isinstance(discriminator, Discriminator) else SklearnDiscriminator(discriminator)


def make_family(effort: str, seen: Seen = _PLAIN, *, n_texts: int | None = None) -> Discriminator:
    """Return the discriminator of an effort (``quick``, ``default`` or ``max``): a family, or its only member.

    `n_texts`: of the smaller side, which decides who is a member; None: as for plenty, without what needs a GPU. With a
    prior of English, trees are a member too, but for ``quick``. The blend is preferred but for tokenised sentences.

    Members whose extra is not installed are left out; see `missing_members`.
    """
    missing = missing_members(effort, seen, n_texts=n_texts)
    names = _names(effort, n_texts, seen)
    members = [make_discriminator(name) for name in names if name not in missing]
    if len(members) == 1:
        return members[0]
    name = "best of " + ", ".join(member.name for member in members)
    return FamilyDiscriminator(name, members, prefer=None if seen == _PLAIN else BLEND)


def missing_members(effort: str, seen: Seen = _PLAIN, *, n_texts: int | None = None) -> dict[str, str]:
    """Return the members of an effort's family whose extra is not installed, and for each how to install it."""
    missing = {}
    for name in _names(effort, n_texts, seen):
        try:
            make_discriminator(name)
        except MissingExtraError as error:
            missing[name] = str(error)
    return missing


def family_sizes(effort: str, seen: Seen = _PLAIN) -> list[int]:
    """Return the sizes from which on an effort's family has other members, in texts of the smaller side, 0 first."""
    return sorted({0, *(member.least for member in _families(seen)[effort])})


def decided_by_size(effort: str, n_texts: int, seen: Seen = _PLAIN) -> str | None:
    """Return for which sizes the family is that of `n_texts`; None where it is that of plenty."""
    if _names(effort, n_texts, seen) == _names(effort, None, seen):
        return None
    sizes = family_sizes(effort, seen)
    least = max(size for size in sizes if size <= n_texts)
    above = [size for size in sizes if size > n_texts]
    if least == 0:
        return f"up to {above[0] - 1:,} texts a side"
    return f"{least:,} {f'to {above[0] - 1:,} texts a side' if above else 'texts a side or more'}"


def _names(effort: str, n_texts: int | None, seen: Seen) -> list[str]:
    members = [member for member in _families(seen)[effort] if member.joins(n_texts)]
    return [member.name for member in members if not member.needs_gpu or _has_gpu()]


def _has_gpu() -> bool:
    """Return whether networks would run on a GPU of CUDA."""
    if find_spec("torch") is None or not device_name().startswith(("auto", "cuda")):
        return False
    import torch

    return bool(torch.cuda.is_available())


def _families(seen: Seen) -> Mapping[str, Sequence[Member]]:
    families = {"sentence": FAMILIES, "raw sentence": FAMILIES_OF_RAW, "document": FAMILIES_OF_DOCUMENTS}[seen.kind]
    more: list[Member] = [_VECTORS] * seen.vectors
    if is_model(seen.prior):
        more.append(_MODEL)
    elif seen.prior is not None:
        families = FAMILIES_WITH_PRIOR
    return {effort: (*own, *more) for effort, own in families.items()}
