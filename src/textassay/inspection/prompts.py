"""Findings about prompts: those that one side has alone, those that nearly agree, and those that were not used."""

import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError
from textassay.inspection.finding import REAL, Finding
from textassay.inspection.surface import excerpt

_WARNING = 0.05  # of the prompts of both sides, from which missing answers change what is compared
_N_NAMED = 3


def prompt_findings(prompts: Corpus, real: Corpus, generated: Mapping[str, Corpus]) -> list[Finding]:
    """Return what is wrong with the prompts of each generator; raise where it shares none with the real text.

    All come with group numbers, which say what answers which prompt; `prompts` holds each once.
    """
    assert prompts.groups is not None
    assert real.groups is not None
    texts = dict(zip(prompts.groups.tolist(), prompts.texts, strict=True))
    of_real = set(np.unique(real.groups).tolist())
    findings = []
    for name, corpus in generated.items():
        assert corpus.groups is not None
        own = set(np.unique(corpus.groups).tolist())
        only_real, only_own = sorted(of_real - own), sorted(own - of_real)
        if not (only_real or only_own):
            continue
        n_near, example = _nearly_equal([texts[one] for one in only_own], [texts[one] for one in only_real])
        near = (
            f"; {n_near} of these differ from a real one by white space, case or the form of characters alone"
            if n_near
            else ""
        )
        if not of_real & own:
            raise InputError(
                f"no prompt of {name} ({len(own)}) is a prompt of the real text ({len(of_real)}){near}: give "
                "answers to the same prompts, written in the same way"
            )
        n_all = len(of_real | own)
        share = (len(only_real) + len(only_own)) / n_all
        findings.append(
            Finding(
                "prompts-of-one-side",
                "warning" if share >= _WARNING or n_near else "note",
                name,
                f"{len(only_real)} of {len(of_real)} prompts of the real text have no answer by {name}, and "
                f"{len(only_own)} of {len(own)} prompts that it answers have no real answer{near}: conditional dd "
                "leaves them out, other metrics do not.",
                len(only_own),
                len(only_real),
                len(own),
                len(of_real),
                None if not only_own else excerpt(example[0] if example else texts[only_own[0]]),
                None if not only_real else excerpt(example[1] if example else texts[only_real[0]]),
                "Write prompts alike on both sides." if n_near else "Give both sides answers to the same prompts.",
            )
        )
    return findings


def prompts_unused(names: Sequence[str], everything: Sequence[str]) -> Finding:
    """Return the finding that some sets of texts came with prompts, and others did not, so that none were used."""
    lacking = [name for name in everything if name not in names]
    return Finding(
        "prompts-not-used",
        "warning",
        REAL,
        f"Prompts are there and were not used: {_listed(names)} came with them, {_listed(lacking)} did not.",
        0,
        0,
        0,
        0,
        None,
        None,
        "Give all texts their prompts (--prompt-column NAME), so that answers to the same prompt are compared.",
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _N_NAMED} more" if len(names) > _N_NAMED else ""
    return ", ".join(names[:_N_NAMED]) + more


def _nearly_equal(own: Sequence[str], real: Sequence[str]) -> tuple[int, tuple[str, str] | None]:
    """Return how many of `own` are one of `real` but for white space, case and the form of characters, and a pair."""
    plain = {_plain(text): text for text in real}
    pairs = [(text, plain[_plain(text)]) for text in own if _plain(text) in plain]
    return len(pairs), pairs[0] if pairs else None


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
