"""Exposure bias of translation: a channel worked out by hand, ends, intervals that cover, refusals."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay_lab.exposure.bleu import NotForTranslationError, check_not_translation
from textassay_lab.exposure.translation import translation_eb_c
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.parallel import ParallelText

FORM = Vocabulary(["A", "B", "s", "t"])
Table = Mapping[tuple[str, str], tuple[float, float, float]]  # source, what was read -> the end, A, B

# Two words; the first source is Example 1 of the source, the second leans to B.
DATA: Table = {
    ("s", ""): (0, 0.5, 0.5), ("s", "A"): (0, 0.5, 0.5), ("s", "B"): (0, 0.5, 0.5),
    ("t", ""): (0, 0.25, 0.75), ("t", "A"): (0, 0.5, 0.5), ("t", "B"): (0, 0.5, 0.5),
}  # fmt: skip
MODEL: Table = {
    ("s", ""): (0, 0.9, 0.1), ("s", "A"): (0, 0.9, 0.1), ("s", "B"): (0, 0.5, 0.5),
    ("t", ""): (0, 0.3, 0.7), ("t", "A"): (0, 0.6, 0.4), ("t", "B"): (0, 0.2, 0.8),
}  # fmt: skip


class Channel:
    """A translator whose every probability stands in a table."""

    def __init__(self, table: Table, best: Mapping[str, str], name: str = "channel") -> None:
        self.table, self.best, self.name, self.vocabulary = table, best, name, FORM
        self.asked: list[int] = []

    def translations(self, source: Corpus, *, width: int) -> Corpus:
        self.asked.append(width)
        return Corpus.from_texts([self.best[text] for text in source.texts], vocabulary=FORM)

    def prefix_logits(self, pairs: ParallelText, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        logits = np.full((len(pairs), len(positions), len(FORM)), -np.inf)
        for row, source in enumerate(pairs.source.texts):
            words = pairs.target.sentence(row)
            for place, position in enumerate(positions.tolist()):
                with np.errstate(divide="ignore"):
                    logits[row, place, [1, 4, 5]] = np.log(self.table[source, " ".join(words[:position])])
        return logits


def pairs_of(rows: list[tuple[str, str]]) -> ParallelText:
    sources, targets = (Corpus.from_texts([row[side] for row in rows], vocabulary=FORM) for side in (0, 1))
    return ParallelText(sources, targets)


EVERY = [("s", words) for words in ("A A", "A B", "B A", "B B") for _ in range(2)]
EVERY += [("t", words) for words in ("A A", "A B", *["B A", "B B"] * 3)]
BEST = {"s": "A A", "t": "B B"}


@pytest.mark.feature("EB-30")
def test_the_channel_gives_what_was_worked_out_by_hand() -> None:
    model = Channel(MODEL, BEST)
    found = translation_eb_c(model, Channel(DATA, BEST), pairs_of(EVERY), [1], width=7)
    assert model.asked == [7], "beam search of the model gives its prefixes"
    # After references: s: 1/2 (0.4) + 1/2 (0); t: 1/4 (0.1) + 3/4 (0.3). After translations: s: 0.4, t: 0.3.
    assert found["tv"].data == pytest.approx([(0.2 + 0.25) / 2], rel=1e-12)
    assert found["tv"].model == pytest.approx([0.35], rel=1e-12)
    assert found["tv"].eb_c == pytest.approx([0.35 / 0.225], rel=1e-12)
    assert found["tv"].n_pairs == (16,)
    js = {p: 0.5 * _kl(p, (p + 0.5) / 2) + 0.5 * _kl(0.5, (p + 0.5) / 2) for p in (0.9, 0.6, 0.2)}
    assert found["js"].data == pytest.approx([(js[0.9] / 2 + js[0.6] / 4 + 3 * js[0.2] / 4) / 2], rel=1e-9)
    assert found["js"].model == pytest.approx([(js[0.9] + js[0.2]) / 2], rel=1e-9)
    # of equal words the first counts: A; the model's greedy word differs after "t: B" alone
    assert found["greedy"].data == pytest.approx([0.75 / 2])
    assert found["greedy"].model == pytest.approx([0.5])
    assert found["greedy"].ties == 1


def _kl(p: float, q: float) -> float:
    return float(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)))


@pytest.mark.feature("EB-30")
def test_before_anything_is_read_there_is_no_bias() -> None:
    found = translation_eb_c(Channel(MODEL, BEST), Channel(DATA, BEST), pairs_of(EVERY), [0], distances=["tv"])
    assert found["tv"].data == pytest.approx([(0.4 + 0.05) / 2])
    assert found["tv"].eb_c == pytest.approx([1.0], rel=1e-12)


@pytest.mark.feature("EB-30")
def test_the_end_is_a_word_and_short_pairs_are_left_out_on_both_sides() -> None:
    data = {("s", ""): (0.0, 1.0, 0.0), ("s", "A"): (0.5, 0.5, 0.0), ("s", "A A"): (1.0, 0.0, 0.0)}
    model = {("s", ""): (0.0, 1.0, 0.0), ("s", "A"): (0.2, 0.8, 0.0), ("s", "A A"): (0.6, 0.4, 0.0)}
    pairs = pairs_of([("s", "A"), ("s", "A A"), ("s", "A A"), ("s", "A A")])
    translations = Corpus.from_texts(["A A", "A A", "A A", "A"], vocabulary=FORM)
    found = translation_eb_c(
        Channel(model, {}), Channel(data, {}), pairs, [1, 2], translations=translations, distances=["tv"]
    )["tv"]
    assert found.n_pairs == (4, 2)
    assert found.data == pytest.approx([0.3, 0.4])
    assert found.eb_c == pytest.approx([1, 1])


def test_a_model_that_is_the_oracle_has_no_ratio() -> None:
    with pytest.warns(UserWarning, match="undefined after 1 tokens: model and oracle agree after references"):
        found = translation_eb_c(Channel(DATA, BEST), Channel(DATA, BEST), pairs_of(EVERY), [1], distances=["tv"])
    assert np.isnan(found["tv"].eb_c).all()
    assert found["tv"].to_dict()["eb_c"] == [None]
    assert found["tv"].to_dict()["eb_c_intervals"] == [None]


@pytest.mark.slow
def test_intervals_cover() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(300):
        rows = [EVERY[number] for number in rng.integers(0, len(EVERY), 80)]
        found = translation_eb_c(Channel(MODEL, BEST), Channel(DATA, BEST), pairs_of(rows), [1], distances=["tv"])["tv"]
        interval = found.eb_c_intervals[0]
        assert interval is not None
        hits += interval.low <= 0.35 / 0.225 <= interval.high
    assert 275 <= hits <= 297, "0.95 within three standard errors"


def test_what_is_refused() -> None:
    model, pairs = Channel(MODEL, BEST), pairs_of(EVERY)
    with pytest.raises(TooFewSentencesError, match="0 of 16 pairs have at least 3 tokens in reference and translation"):
        translation_eb_c(model, model, pairs, [1, 3])
    with pytest.raises(InputError, match="got 16 sources and 2 translations"):
        translation_eb_c(model, model, pairs, [1], translations=pairs.target.take(np.arange(2)))
    other = Channel(DATA, BEST)
    other.vocabulary = Vocabulary(["A"])
    with pytest.raises(OptionError, match="different vocabularies, of 8 and 5 tokens"):
        translation_eb_c(model, other, pairs, [1])
    with pytest.raises(OptionError, match="unknown distance 'tw': did you mean tv"):
        translation_eb_c(model, model, pairs, [1], distances=["tw"])
    with pytest.raises(OptionError, match="at least one length is needed, got none"):
        translation_eb_c(model, model, pairs, [])


@pytest.mark.feature("EB-30")
def test_two_networks(tmp_path: Any) -> None:
    pytest.importorskip("torch")
    words = ["A B", "B A A", "A", "B B A B"] * 5
    form = Corpus.from_texts(words)
    pairs = ParallelText(form, form)
    weak, strong = (
        cast(Any, make_generator("translation", preset="tiny", max_epochs=epochs, seed=epochs)).fit(pairs)
        for epochs in (1, 6)
    )
    found = translation_eb_c(weak, strong, pairs, [0, 1], width=2, distances=["tv"])
    logits = [side.prefix_logits(pairs, np.array([1])).astype(np.float64)[:, 0] for side in (weak, strong)]
    tables = [np.exp(side - side.max(1, keepdims=True)) for side in logits]
    tables = [table / table.sum(1, keepdims=True) for table in tables]
    long_enough = np.minimum(pairs.target.lengths, weak.translations(pairs.source, width=2).lengths) >= 1
    expected = np.abs(tables[0] - tables[1]).sum(1)[long_enough].mean() / 2
    assert found["tv"].data[1] == pytest.approx(expected, abs=1e-6)


@pytest.mark.feature("EB-32")
def test_eb_bleu_is_refused_for_translation() -> None:
    pytest.importorskip("torch")
    with pytest.raises(NotForTranslationError, match="A prefix of the reference reveals the rest of it"):
        check_not_translation(make_generator("translation", preset="tiny"))
