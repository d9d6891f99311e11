"""Pairs of fluent text of known truth: a pretrained language model at a temperature or a top-p, and as it is.

They need no text of the user's, but the extra ``prior-lm``, and minutes: 1,000 texts of 24 tokens take three of
processor time. The truth is therefore a mean over 1,000 texts a side, with a standard error of at most 0.006.

It is the discrepancy of drawn tokens. Several token sequences may decode to one string, and dd judges strings, whose
discrepancy is at most that of tokens. Of 5,000 texts of 24 tokens of SmolLM2-135M-Instruct, 15 % as it is, 10 % at
temperature 0.9 and 11 % at top-p 0.95 have other tokens when they are encoded again; but as many tokens, so that these
could have been drawn, 4, 2 and 2 %. Of 64 tokens: 30, 19 and 21 %; as many, 9, 4 and 5 %.
"""

from collections.abc import Sequence

from textassay.errors import unknown_name
from textassay.prior.catalog import SMOLLM2
from textassay.prior.language_model import language_model
from textassay_lab.generator.fluent import AS_IT_IS, N_TOKENS, SETTINGS, DrawnAt, Setting
from textassay_lab.meta_evaluation.known_truth_pairs import KnownTruthPair

N_FOR_FLUENT_TRUTH = 1_000  # texts a side

_SETTINGS = {
    **{
        f"fluent-{each.temperature:g}" if each.top_p == 1 else f"fluent-top-p-{each.top_p:g}": each
        for each in SETTINGS
        if each != AS_IT_IS
    },
    "fluent-identical": AS_IT_IS,
}
FLUENT_NAMES = tuple(_SETTINGS)


def fluent_pairs(
    names: Sequence[str] = FLUENT_NAMES, *, model: str = SMOLLM2, n_tokens: int = N_TOKENS
) -> list[KnownTruthPair]:
    """Return pairs of fluent text, all with one p; raise where `model` is not installed.

    `model`: as in `textassay.prior.language_model.language_model`; `n_tokens`: of each text.
    """
    for name in names:
        if name not in _SETTINGS:
            raise unknown_name("world", name, _SETTINGS)
    if names:
        language_model(model)
    return [_pair(name, _SETTINGS[name], model, n_tokens) for name in names]


def _pair(name: str, setting: Setting, model: str, n_tokens: int) -> KnownTruthPair:
    kind = "identical" if setting == AS_IT_IS else "fluent"
    p, q = (DrawnAt(each, n_tokens, model) for each in (AS_IT_IS, setting))
    return KnownTruthPair(name, kind, kind, p, q, n_truth=N_FOR_FLUENT_TRUTH)
