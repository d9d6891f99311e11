"""The parts of a real text, by hand."""

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError
from textassay_lab.papers.dd.experiment import DD_PAPER, KINDS, Experiment, Texts, split_text, synthetic_texts
from textassay_lab.papers.dd.results import DdStudy
from textassay_lab.papers.paper import Network, Scale
from textassay_lab.papers.training import Part, first_share

SMALL = DD_PAPER.scales["tiny"].but(
    name="small", n_train=40, n_drawn_train=50, n_valid=4, n_test=6, n_class=10, fractions=(0.2, 0.5, 1.0),
    networks=dict.fromkeys(KINDS, Network("tiny")), original=Network("tiny"), reverse_network=True, min_count=2,
    initialisations=2,
)  # fmt: skip


def numbered(n: int) -> list[str]:
    """Return sentences that say where they stand; the word "a" is in all of them."""
    return [f"a w{place}" for place in range(n)]


def corpus(part: Part | None) -> Corpus:
    assert part is not None
    assert part.corpus is not None
    return part.corpus


def split(n: int = 100, scale: Scale = SMALL) -> Texts:
    return split_text(numbered(n), None, None, scale)


def test_parts_are_taken_in_order_from_both_ends_and_share_nothing() -> None:
    text = split_text([f"w{place}" for place in range(100)], None, None, SMALL.but(min_count=1))
    assert corpus(text.train).texts[0] == "w0"
    assert len(corpus(text.train)) == text.n_train == 40
    sizes = [len(corpus(part)) for part in (text.unseen, text.more, text.test, text.valid)]
    assert sizes == [16, 16, 6, 4]
    # 42 sentences from the end: unseen from 58, more from 74, test from 90, validation from 96; their words are unknown
    assert set(corpus(text.valid).texts) == {"<unk>"}
    known = split_text(["x " * (place + 1) for place in range(100)], None, None, SMALL.but(min_count=1))
    assert known.n_cut == 42
    assert known.longest == 40


@pytest.mark.feature("DD-12")
def test_fractions_are_the_first_sentences_and_nested() -> None:
    text = split()
    experiment = Experiment(text, SMALL, seed=0, initialisations=1)
    assert experiment.generators == {
        "LSTM_0.2": 8, "LSTM_0.5": 20, "LSTM_1.0": 40, "GPT-2_0.2": 8, "GPT-2_0.5": 20, "GPT-2_1.0": 40,
    }  # fmt: skip
    assert [first_share(101, share) for share in (0.2, 0.4, 0.6, 0.8, 1.0)] == [21, 41, 61, 81, 101]
    read = {name: stage.settings["train"]["text"] for name, stage in experiment.trained.items()}
    assert read["LSTM_0.2"] == corpus(text.train).take(np.arange(8)).fingerprint == read["GPT-2_0.2"]
    assert read["LSTM_1.0"] == corpus(text.train).fingerprint


def test_unknown_words_are_written_as_unknown() -> None:
    text = split()
    assert corpus(text.train).texts[0] == "a <unk>"
    assert text.unk_rates == (0.5, 0.5)


def test_files_of_their_own_leave_more_to_train_on() -> None:
    text = split_text(numbered(72), numbered(10), numbered(10), SMALL)
    assert [len(corpus(part)) for part in (text.train, text.valid, text.test)] == [40, 4, 6]
    with pytest.raises(TooFewSentencesError, match="small needs 4 sentences, the validation text has 3"):
        split_text(numbered(90), numbered(3), None, SMALL)


def test_what_is_left_is_the_training_text_where_a_scale_names_no_size() -> None:
    text = split_text(numbered(100), None, None, SMALL.but(n_train=None, unseen=False))
    assert text.n_train == len(corpus(text.train)) == 90
    assert text.unseen is None


@pytest.mark.parametrize("n", [0, 10, 81])
def test_too_little_text_is_one_line_with_both_numbers(n: int) -> None:
    with pytest.raises(TooFewSentencesError, match=f"needs 82 sentences, the real text has {n}"):
        split(n)


def test_text_without_a_token_is_refused() -> None:
    with pytest.raises(EmptyCorpusError, match="no token"):
        split_text([" "] * 100, None, None, SMALL)


def test_unknown_names_list_what_there_is(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OptionError, match="dd-real, dd-synthetic"):
        DdStudy("dd-reel", split(), SMALL, tmp_path)


def test_the_paper_is_as_published() -> None:
    paper = DD_PAPER.scales["paper"]
    assert (paper.n_drawn_train, paper.n_valid, paper.n_test) == (300_000, 10_000, 10_000)
    assert paper.fractions == (0.2, 0.4, 0.6, 0.8, 1.0)
    assert paper.initialisations == 5
    text = split(100)
    drawn = synthetic_texts(text, SMALL, seed=0)
    assert drawn.train.stage is not None
    assert drawn.train.stage.settings["counts"] == {"train": 50}
    assert drawn.n_train == 50


def test_keys_change_only_where_what_they_stand_for_does(tmp_path) -> None:  # type: ignore[no-untyped-def]
    def keys(**changes: object) -> dict[str, str]:
        study = DdStudy("dd-real", split(100, SMALL.but(**changes)), SMALL.but(**changes), tmp_path)
        return {stage.label: stage.key for stage in study.all_stages()}

    plain, again = keys(), keys()
    assert plain == again
    of_class = keys(n_class=9)
    same = {label for label in plain if of_class.get(label) == plain[label]}
    assert {label for label in plain if label.startswith("train ")} <= same
    other_seed = DdStudy("dd-real", split(), SMALL, tmp_path, seed=1).all_stages()
    assert not set(plain.values()) & {stage.key for stage in other_seed}
