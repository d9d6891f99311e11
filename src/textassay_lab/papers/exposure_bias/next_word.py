"""The next-word task of table 4, with simulated raters of known skill in the place of people.

Nobody is asked: what is shown is whether the pages and the score give back what the raters were made with. The pages
are those that people would see; they are kept as ``study.json`` in the folder of the stage, where `textassay human` can
read them.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, section 4.4, figures 5 and 6.
"""

import warnings
from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.corpus.parallel import ParallelText
from textassay.errors import TooFewSentencesError
from textassay.seeding import stream
from textassay_lab.exposure.switching import SwitchedSample
from textassay_lab.human.acceptance import accept, collect
from textassay_lab.human.next_word import build_next_word, draw_prefixes, draw_translation_prefixes
from textassay_lab.human.next_word_score import score_next_word
from textassay_lab.human.simulated_raters import share_foreseen, simulate_raters
from textassay_lab.human.study import NONE_OF_THEM, StudyItem, save_study
from textassay_lab.papers.exposure_bias.measures import Subject
from textassay_lab.papers.exposure_bias.published import ExposureScale
from textassay_lab.papers.network_stages import seed_for
from textassay_lab.papers.stages import Stage, Work


def next_word_stages(
    task: str, subject: Subject, text: Corpus | ParallelText, lengths: Sequence[int], scale: ExposureScale, *, seed: int
) -> dict[int, Stage]:
    """Return a stage for each length of prefixes; `text`: what the model never saw, pairs for a translation model."""
    stages = {}
    for length, skill in zip(lengths, cycle(scale.skills[task]), strict=False):
        own = seed_for(seed, "next-word", task, length)
        stages[length] = _next_word_stage(task, subject, text, length, skill, scale, seed=own)
    return stages


def _next_word_stage(
    task: str, subject: Subject, text: Corpus | ParallelText, length: int, skill: tuple[float, float],
    scale: ExposureScale, *, seed: int,
) -> Stage:  # fmt: skip
    """Return the task at one length; its result is None, with a warning, where there are too few prefixes."""
    n, (after_data, after_own) = scale.n_prefixes, skill

    def run(work: Work) -> dict[str, Any] | None:
        model: Any = subject.open(work)
        try:
            if isinstance(text, ParallelText):
                work.tell(f"beam search for {2 * n} prefixes")
                prefixes = draw_translation_prefixes(model, text, length=length, n=n, seed=seed)
            else:
                prefixes = draw_prefixes(model, text, length=length, n=n, seed=seed)
        except TooFewSentencesError as error:
            warnings.warn(f"{task}, prefixes of {length} tokens are left out: {error}", stacklevel=2)
            return None
        study = build_next_word(
            *prefixes, name=model.name, judgements_per_page=scale.judgements_per_page, settings={"length": length},
            seed=seed,
        )  # fmt: skip
        save_study(study, work.folder)
        answers = simulate_raters(
            study, after_data=after_data, after_own=after_own, n_raters=scale.n_raters, seed=seed
        )  # fmt: skip
        score = score_next_word(collect(study, accept(study, answers).submissions))
        shown = [next(item for item in study.items if (item.generator is None) == real) for real in (True, False)]
        return {
            "known": [1 - after_data, 1 - after_own],
            "score": score.to_dict(),
            "pages": len(study.pages),
            "foreseen": _foreseen(model, text, length, n, seed=seed),
            "items": [dict(line.__dict__) for item in shown for line in _lines(item)],
        }

    settings = {
        **subject.settings, "text": text.fingerprint, "length": length, "n": n, "skill": list(skill), "seed": seed,
        "judgements": scale.judgements_per_page, "raters": scale.n_raters,
    }  # fmt: skip
    return Stage("next-word", f"{task}, l = {length}", settings, run, subject.inputs, float(2 * n))


def _foreseen(model: Any, text: Corpus | ParallelText, length: int, n: int, *, seed: int) -> float:
    """Return `share_foreseen` of `n` texts, or as many as are long enough."""
    source: Corpus | None = None
    if isinstance(text, ParallelText):
        known: ParallelText = model.pairs(text.source, text.target)
        source, text = known.source, known.target
    rows = stream(seed, "foreseen").permutation(np.flatnonzero(text.lengths >= length))[:n]
    return share_foreseen(model, text.take(rows), length, source=None if source is None else source.take(rows))


def _lines(item: StudyItem) -> list[SwitchedSample]:
    """Return an item as it stands on the page, and who wrote the prefix, which raters are not told."""
    whose = "the data" if item.generator is None else "the model"
    lines = [SwitchedSample("written by (not on the page)", "", whose)]
    if item.text.startswith("Source: "):
        source, _, begun = item.text.removeprefix("Source: ").rpartition("\nTranslation: ")
        lines += [SwitchedSample("source", "", source), SwitchedSample("partial translation", begun, "")]
    else:
        lines.append(SwitchedSample("beginning", item.text, ""))
    answers = zip(item.labels, (*item.choices, NONE_OF_THEM), strict=True)
    return [*lines, *(SwitchedSample(f"answer {label}", "", word) for label, word in answers)]
