"""Simulated raters of the next-word task, of known skill: what pages and score give back is checked against it."""

from typing import TYPE_CHECKING

import numpy as np

from textassay.corpus.corpus import Corpus, truncate
from textassay.corpus.encoding import EOS
from textassay.errors import OptionError
from textassay.seeding import stream
from textassay_lab.human.acceptance import Submission
from textassay_lab.human.next_word import next_log_probs
from textassay_lab.human.study import Study

if TYPE_CHECKING:
    from textassay.ngram.language_model import LanguageModel
    from textassay_lab.generator.translation_model import TranslationModel


def simulate_raters(
    study: Study, *, after_data: float, after_own: float, n_raters: int, seed: int = 0
) -> list[Submission]:
    """Return the answers of `n_raters` who take turns until each page has all its judgements.

    After prefixes of data each chooses the model's most probable word with the chance `after_data`, after the model's
    with `after_own`, else one of the other answers, "none of them" among them, each as likely.
    """
    if n_raters < study.judgements_per_page:
        raise OptionError(f"n_raters must be at least {study.judgements_per_page}, as a page needs, got {n_raters}")
    rng = stream(seed, "next word", "simulated raters")
    submissions: list[Submission] = []
    for page in study.pages:
        for _ in range(study.judgements_per_page):
            answers = {}
            for item in page.items:
                others = [label for label in item.labels if label != str(item.top)]
                agrees = rng.random() < (after_data if item.generator is None else after_own)
                answers[item.id] = str(item.top) if agrees else others[rng.integers(len(others))]
            submissions.append(Submission(page.id, f"simulated {len(submissions) % n_raters + 1}", answers))
    return submissions


def share_foreseen(
    model: "LanguageModel | TranslationModel", texts: Corpus, length: int, *, source: Corpus | None = None
) -> float:
    """Return how often what follows the first `length` tokens is the model's most probable next word, NaN of no text.

    So often would a reader agree with the model who knows the texts by heart. All texts must have `length` tokens.
    """
    likeliest = [log_probs.argmax(1) for log_probs in next_log_probs(model, truncate(texts, length), source)]
    ends = texts.offsets[1:]
    places = texts.offsets[:-1] + length
    following = np.where(places < ends, np.append(texts.tokens, EOS)[places], EOS)
    return float(np.mean(np.concatenate(likeliest) == following)) if likeliest else float("nan")
