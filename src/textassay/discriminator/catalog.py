"""All discriminators by name, and the families among which dd chooses at each effort."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from textassay.discriminator.base import Discriminator, SklearnDiscriminator
from textassay.discriminator.boosted_trees import BoostedTreesDiscriminator
from textassay.discriminator.cnn import PAPER, CnnDiscriminator
from textassay.discriminator.embedding_logistic import EmbeddingLogisticDiscriminator
from textassay.discriminator.family import BLEND, FamilyDiscriminator
from textassay.discriminator.likelihood_ratio import LikelihoodRatioDiscriminator
from textassay.discriminator.logistic import LogisticDiscriminator
from textassay.discriminator.naive_bayes import NaiveBayesDiscriminator
from textassay.discriminator.nb_logistic import NbLogisticDiscriminator
from textassay.discriminator.ngram_network import NgramNetworkDiscriminator
from textassay.discriminator.random_forest import RandomForestDiscriminator
from textassay.discriminator.recurrent import RecurrentDiscriminator
from textassay.discriminator.stack import StackDiscriminator
from textassay.discriminator.svm import SvmDiscriminator
from textassay.discriminator.transformer import PRETRAINING, TransformerDiscriminator
from textassay.discriminator.xgboost_trees import XgboostDiscriminator
from textassay.errors import MissingExtraError, unknown_name

AUTO = "auto"  # the family of the effort

DISCRIMINATORS: Mapping[str, Callable[[], Discriminator]] = {
    "boosted-trees": BoostedTreesDiscriminator,
    "cnn": CnnDiscriminator,
    "cnn-lstm": partial(RecurrentDiscriminator, convolution=True),
    "cnn-paper": partial(CnnDiscriminator, PAPER),
    "embedding-logistic": EmbeddingLogisticDiscriminator,
    "likelihood-ratio": LikelihoodRatioDiscriminator,
    "logistic": LogisticDiscriminator,
    "lstm": RecurrentDiscriminator,
    "naive-bayes": NaiveBayesDiscriminator,
    "nb-logistic": NbLogisticDiscriminator,
    "ngram-network": NgramNetworkDiscriminator,
    "random-forest": RandomForestDiscriminator,
    "stack": StackDiscriminator,
    "stack-quick": partial(
        StackDiscriminator, "stack-quick", skips=False, margins=False, grid=(0.1, 3.0), bends=(0.3,)
    ),
    "svm": SvmDiscriminator,
    "transformer": TransformerDiscriminator,
    "transformer-pretrained": partial(TransformerDiscriminator, pretraining=PRETRAINING),
    "xgboost": XgboostDiscriminator,
}

# Effort to the members of its family, those before are preferred. Where the extra of a member is not installed the
# family does without it, and its name and signature say so.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "quick": ("stack-quick",),
    "default": ("stack", "logistic"),
    "max": ("stack", "logistic", "ngram-network"),
}
# The same where there is a prior; the blend is preferred to any of them.
FAMILIES_WITH_PRIOR: Mapping[str, tuple[str, ...]] = {
    "quick": ("stack-quick",),
    "default": ("stack", "boosted-trees"),
    "max": ("stack", "boosted-trees", "ngram-network"),
}


def make_discriminator(name: str) -> Discriminator:
    """Return the discriminator called `name`."""
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


def make_family(effort: str, *, has_prior: bool = False) -> Discriminator:
    """Return the discriminator of an effort (``quick``, ``default`` or ``max``): a family, or its only member.

    With a prior, trees are a member too, but for ``quick``, and the blend of all is preferred to any.

    Members whose extra is not installed are left out; see `missing_members`.
    """
    missing = missing_members(effort, has_prior=has_prior)
    members = [make_discriminator(name) for name in _families(has_prior)[effort] if name not in missing]
    if len(members) == 1:
        return members[0]
    name = "best of " + ", ".join(member.name for member in members)
    return FamilyDiscriminator(name, members, prefer=BLEND if has_prior else None)


def missing_members(effort: str, *, has_prior: bool = False) -> dict[str, str]:
    """Return the members of an effort's family whose extra is not installed, and for each how to install it."""
    missing = {}
    for name in _families(has_prior)[effort]:
        try:
            make_discriminator(name)
        except MissingExtraError as error:
            missing[name] = str(error)
    return missing


def _families(has_prior: bool) -> Mapping[str, tuple[str, ...]]:
    return FAMILIES_WITH_PRIOR if has_prior else FAMILIES
