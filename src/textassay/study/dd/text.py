"""The real text of a study and its parts: training, validation, test, and text that no generator saw.

Parts are taken in the order of the file, as in the paper: a corpus in the order of its documents must be shuffled
before. Words that the training text lacks become ``<unk>`` in all parts, in tokens and in texts, as in generated text.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", section 5, and its code
(vocabulary of the training text alone; validation text from the end of the file; longer sentences cut to the longest of
the training text).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from textassay.corpus import Corpus, TextForm
from textassay.errors import EmptyCorpusError, TooFewSentencesError
from textassay.study.dd.scales import Scale
from textassay.study.draws import as_written

_AT_LEAST = 20  # sentences in the smallest part


@dataclass(frozen=True)
class StudyText:
    """Real text, split."""

    form: TextForm  # How all text of the study is written
    longest: int  # Tokens of the longest training sentence; no sentence has more
    # For generators, and for classifiers
    train: Corpus
    valid: Corpus
    test: Corpus
    # Real text that no generator saw, for classifiers, and as much again, which stands for a perfect generator; none
    # where the scale asks for none
    unseen: Corpus | None
    more: Corpus | None
    unk_rates: tuple[float, float]  # Share of unknown tokens in the training and in the test text
    n_cut: int  # Sentences of other parts that were longer than the longest of the training text


def split_text(
    real: Sequence[str],
    valid: Sequence[str] | None,
    test: Sequence[str] | None,
    scale: Scale,
    *,
    tokenizer: str = "whitespace",
    lowercase: bool = False,
    needs_unseen: bool = True,
) -> StudyText:
    """Return the parts of a corpus."""
    n_judged = scale.n_judged(scale.n_train or 0) if scale.unseen and needs_unseen else 0
    taken = {
        "unseen": n_judged,
        "more": n_judged,
        "test": scale.n_test if test is None else 0,
        "valid": scale.n_valid if valid is None else 0,
    }
    n_train = len(real) - sum(taken.values()) if scale.n_train is None else scale.n_train
    needed = max(n_train, _AT_LEAST) + sum(taken.values())
    for what, part, least in (
        ("the real text", real, needed),
        ("the validation text", valid, scale.n_valid),
        ("the test text", test, scale.n_test),
    ):
        if part is not None and len(part) < least:
            smaller = "" if scale.name == "tiny" else ": use more text, or --scale tiny"
            raise TooFewSentencesError(
                f"the scale {scale.name} needs {least} sentences, {what} has {len(part)}{smaller}"
            )
    texts = {"train": real[:n_train]}
    begin = len(real) - sum(taken.values())
    for name, count in taken.items():
        if count:
            texts[name] = real[begin : begin + count]
            begin += count
    if valid is not None:
        texts["valid"] = valid[: scale.n_valid]
    if test is not None:
        texts["test"] = test[: scale.n_test]
    min_count = 1 if tokenizer.startswith("bpe-") else scale.min_count  # byte pairs are a fixed number of tokens
    form = TextForm.learn(texts["train"], tokenizer=tokenizer, lowercase=lowercase, min_count=min_count)
    corpora = {name: form.corpus(sentences) for name, sentences in texts.items()}
    longest = int(corpora["train"].lengths.max())
    if longest == 0:
        raise EmptyCorpusError(f"the training text has no token in its {n_train} sentences")
    written = {name: as_written(corpus, form, longest) for name, corpus in corpora.items()}
    return StudyText(
        form=form,
        longest=longest,
        train=written["train"],
        valid=written["valid"],
        test=written["test"],
        unseen=written.get("unseen"),
        more=written.get("more"),
        unk_rates=(written["train"].unk_rate, written["test"].unk_rate),
        n_cut=sum(int(np.count_nonzero(corpus.lengths > longest)) for corpus in corpora.values()),
    )
