"""`textassay_lab.generators`: every kind learns from lists of texts, samples, scores, is saved and loaded."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import textassay as ta
from made_up import sentences
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.ngram.model import NgramModel
from textassay_lab.generators import TextGenerator

REAL, VALID = sentences(120, 1), sentences(40, 2)
ROUNDS: dict[str, Any] = {"pretraining_rounds": 1, "negatives": 50, "roll_outs": 1, "validation_samples": 50}
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("Ngram", {"order": 3}),
    ("PositionUnigram", {}),
    ("Lstm", {"max_epochs": 1}),
    ("ScheduledSampling", {"max_epochs": 1}),
    ("Gpt2", {"max_epochs": 1}),
    ("TransformerXl", {"max_epochs": 1}),
    ("SeqGan", {**ROUNDS, "rounds": 1, "max_epochs": 1}),
    ("RankGan", {**ROUNDS, "rounds": 1, "max_epochs": 1}),
    ("CoT", {"rounds": 1, "iterations": 2, "validation_samples": 50}),
    ("ScratchGan", {"rounds": 1, "iterations": 2, "validation_samples": 50}),
    ("LeakGan", {"cycles": 1, "rounds": 1, "negatives": 50, "roll_outs": 1}),
    ("Wgan", {"rounds": 1, "iterations": 1}),
]
LONG = {"LeakGan", "TransformerXl", "Wgan"}
cut = pytest.mark.filterwarnings("ignore:.*samples were cut at")  # what learnt so little does not know where to end


def _class(name: str) -> Any:
    return getattr(ta.generators, name)


@cut
@pytest.mark.parametrize(
    ("name", "settings"),
    [pytest.param(*kind, marks=pytest.mark.slow if kind[0] in LONG else (), id=kind[0]) for kind in KINDS],
)
def test_every_kind_learns_samples_scores_and_comes_back(name: str, settings: dict[str, Any], tmp_path: Path) -> None:
    generator = _class(name)(preset="tiny", **settings)
    assert generator.fit(REAL, VALID) is generator
    drawn = generator.sample(3, seed=1)
    assert len(drawn) == 3
    assert drawn == generator.sample(3, seed=1)
    assert set(map(type, drawn)) == {str}
    generator.save_pretrained(tmp_path)
    again = _class(name).from_pretrained(tmp_path)
    assert again.sample(3, seed=1) == drawn
    assert ta.generators.from_pretrained(str(tmp_path)).sample(3, seed=1) == drawn
    if name == "Wgan":
        with pytest.raises(InputError, match="has no likelihood"):
            again.log_prob(VALID)
    else:
        np.testing.assert_array_equal(again.log_prob(VALID), generator.log_prob(VALID))
    with pytest.raises(OptionError, match="was loaded: make a new one"):
        again.fit(REAL, VALID)


def test_it_is_the_model_of_the_room() -> None:
    generator = ta.generators.Ngram(order=3).fit(REAL, VALID)
    form = generator.form
    model = NgramModel(order=3, max_length=100).fit(form.corpus(REAL), form.corpus(VALID))
    assert generator.sample(5, seed=3) == list(model.sample(5, seed=3).texts)
    np.testing.assert_array_equal(generator.log_prob(VALID), model.log_prob(form.corpus(VALID)))


@cut
@pytest.mark.parametrize("name", ["Att2Seq", "C2s", "GatedC2s"])
def test_a_conditional_generator_answers_to_contexts(name: str, tmp_path: Path) -> None:
    contexts = {"size": ["short" if len(text) < 30 else "long" for text in REAL]}
    generator = _class(name)(preset="tiny", max_epochs=1).fit(REAL, contexts=contexts)
    asked = {"size": ["short", "long"]}
    drawn = generator.sample(2, contexts=asked)
    generator.save_pretrained(tmp_path)
    again = _class(name).from_pretrained(tmp_path)
    assert again.sample(2, contexts=asked) == drawn
    log_probs = again.log_prob(REAL[:2], contexts=asked)
    assert log_probs.shape == (2,)
    assert not np.array_equal(log_probs, again.log_prob(REAL[:2], contexts={"size": ["long", "short"]}))


@cut
@pytest.mark.filterwarnings("ignore:.*translations reached")
def test_a_translation_model_translates(tmp_path: Path) -> None:
    backwards = [" ".join(reversed(text.split())) for text in REAL]
    generator = ta.generators.Translation(preset="tiny", max_epochs=1, byte_pairs=300).fit(REAL, backwards)
    found = generator.translate(VALID[:2])
    assert len(found) == 2
    assert len(generator.sample(VALID[:2], seed=1)) == 2
    assert (generator.log_prob(backwards[:2], sources=REAL[:2]) < 0).all()
    generator.save_pretrained(tmp_path)
    assert ta.generators.Translation.from_pretrained(tmp_path).translate(VALID[:2]) == found
    with pytest.raises(InputError, match="text k of sources and translations must say the same"):
        ta.generators.Translation(preset="tiny").fit(REAL, backwards[1:])


def test_without_validation_text_a_tenth_is_held_out() -> None:
    generator = ta.generators.Ngram(order=2).fit(REAL)
    assert generator.model.record["train"]["sentences"] == 108
    with pytest.raises(TooFewSentencesError, match="train has one text: to train on it as running text, give a window"):
        ta.generators.Ngram().fit(["a b"])
    with pytest.raises(InputError, match="valid contains the same texts as train"):
        ta.generators.Ngram().fit(REAL, REAL)


def test_texts_come_as_paths_too_and_tokens_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("".join(f"{text.upper()}\n" for text in REAL), encoding="utf-8")
    generator = ta.generators.Ngram(order=2, lowercase=True, min_count=2).fit(path, VALID)
    assert generator.form.tokenizer.lowercase
    assert generator.corpus(["nowhere-seen"]).unk_rate == 1
    like = ta.generators.Ngram(order=3, like=generator).fit(REAL, VALID)
    assert like.form is generator.form
    assert all(text.startswith("za ") for text in generator.sample(3, prefix="ZA"))


def test_running_text_is_cut_into_windows(tmp_path: Path) -> None:
    path = tmp_path / "running.txt"
    path.write_text("what is real is read and what is read is real\n" * 40, encoding="utf-8")
    generator = ta.generators.Lstm(preset="tiny", max_epochs=1, window=7, tokenizer="chars").fit(path)
    assert set(generator.model.sample(5, seed=0).lengths.tolist()) == {7}
    assert generator.model.record["train"]["sentences"] == 40 * 46 * 9 // 10 // 7
    found = ta.approximate(generator, path, window=7, n_samples=20)
    assert found.to_dict()["window"] == 7


def test_mistakes_are_told_when_a_generator_is_made() -> None:
    with pytest.raises(OptionError, match=r"unknown setting of ngram 'layers'"):
        ta.generators.Ngram(layers=2)
    with pytest.raises(OptionError, match=r"unknown setting of seqgan 'heads'"):
        ta.generators.SeqGan(heads=2)
    with pytest.raises(OptionError, match=r"unknown preset of lstm 'huge'"):
        ta.generators.Lstm(preset="huge")
    with pytest.raises(InputError, match="Lstm is not fitted: call fit first"):
        ta.generators.Lstm().sample(1)


def test_a_folder_of_another_kind_is_refused(tmp_path: Path) -> None:
    ta.generators.Ngram(order=2).fit(REAL).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="holds a model of the kind ngram: use Ngram"):
        ta.generators.Gpt2.from_pretrained(tmp_path)


def test_ready_generators_need_no_fit() -> None:
    command = ta.generators.from_pretrained("command:yes a b | head -n {n}")
    assert command.sample(2) == ["a b", "a b"]
    with pytest.raises(OptionError, match="there is nothing to fit"):
        command.fit(REAL)
    random = ta.generators.from_pretrained("random-lstm:2")
    assert random.log_prob(random.sample(2)).shape == (2,)
    assert random.sample(1) != ta.generators.RandomLstm(seed=3).sample(1)


def test_samples_go_straight_into_a_comparison() -> None:
    generator = ta.generators.Ngram(order=2).fit(REAL, VALID)
    comparison = ta.compare({"bigram": generator.sample(100)}, sentences(100, 7), metrics=["length"])
    assert comparison.result("bigram", "length").estimate is not None


def test_all_names_are_generators() -> None:
    for name in ta.generators.__all__:
        value = getattr(ta.generators, name)
        assert name == "from_pretrained" or issubclass(value, TextGenerator)


def test_the_page_of_the_public_names_shows_those_that_there_are() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^::: textassay_lab\.generators\.(\w+)", page, re.MULTILINE)
    assert {*ta.generators.__all__} <= {*shown}
    assert all(hasattr(ta.generators, name) for name in shown)
