"""`textassay.discriminators`: scikit-learn's habits over texts, and what was fitted saved and loaded."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

import textassay as ta
from made_up import sentences
from textassay.discriminator.catalog import make_discriminator
from textassay.discriminator.saved import saved_checksum
from textassay.discriminators import TextClassifier
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay_lab.training.recipe import Recipe

TEXTS = [*sentences(150, 1), *sentences(150, 2, shift=0.4)]
IS_REAL = [True] * 150 + [False] * 150
NEW, NEW_GENERATED = sentences(60, 3), sentences(60, 4, shift=0.4)
SHORT: dict[str, Any] = {"recipe": Recipe(max_epochs=1)}
NETWORKS = ("Cnn", "CnnLstm", "Lstm", "NgramNetwork", "Transformer", "TransformerPretrained")
NAMES = [name for name in ta.discriminators.__all__ if name not in ("TextClassifier", "from_pretrained")]
NAMES += NETWORKS


def _class(name: str) -> Any:
    return getattr(ta.discriminators, name)


def _settings(name: str) -> dict[str, Any]:
    if name == "TransformerPretrained":
        return {**SHORT, "pretraining": Recipe(max_epochs=1)}
    return SHORT if name in NETWORKS else {"effort": "quick"} if name == "Family" else {}


@pytest.mark.parametrize("name", NAMES)
def test_every_classifier_is_fitted_saved_loaded_and_asked(name: str, tmp_path: Path) -> None:
    classifier = _class(name)(**_settings(name), seed=3)
    assert classifier.get_params()["seed"] == 3
    assert classifier.fit(TEXTS, IS_REAL) is classifier
    assert classifier.classes_.tolist() == [False, True]
    probabilities = classifier.predict_proba(NEW)
    assert probabilities.shape == (60, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(classifier.predict(NEW), probabilities[:, 1] > 0.5)
    classifier.save_pretrained(tmp_path)
    for again in (_class(name).from_pretrained(tmp_path), ta.discriminators.from_pretrained(tmp_path)):
        np.testing.assert_array_equal(again.predict_proba(NEW_GENERATED), classifier.predict_proba(NEW_GENERATED))
        assert repr(again.get_params()) == repr(classifier.get_params())


def test_it_is_the_discriminator_of_the_room() -> None:
    classifier = ta.discriminators.Stack().fit(TEXTS, IS_REAL)
    assert classifier.chosen_.keys() == {"c", "bend", "n_features", "log_probs"}
    assert type(classifier.discriminator_) is type(make_discriminator("stack"))
    assert classifier.score([*NEW, *NEW_GENERATED], [True] * 60 + [False] * 60) > 0.5


def test_dd_and_meta_evaluation_take_it_as_they_take_its_name() -> None:
    texts = TEXTS[150:], TEXTS[:150]
    named = ta.dd(*texts, discriminator="logistic", folds=2)
    assert ta.dd(*texts, discriminator=ta.discriminators.Logistic(), folds=2) == named
    by_name = ta.meta_evaluate({"g": texts[0]}, texts[1], discriminator="svm")
    by_class = ta.meta_evaluate({"g": texts[0]}, texts[1], discriminator=ta.discriminators.Svm())
    assert by_class.to_frame().equals(by_name.to_frame())


class _OfNumbers(ta.discriminators.NaiveBayes):
    """Reads rows of numbers as texts, so that scikit-learn's own checks, which know no texts, can run."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array, tags.input_tags.string = True, False, False
        return tags

    def fit(self, X: Any, y: Any) -> "_OfNumbers":  # noqa: N803
        rows, labels = validate_data(self, X, y)
        return super().fit(_as_words(rows), labels)

    def prob_real(self, texts: Any) -> Any:
        if not hasattr(self, "discriminator_"):
            raise NotFittedError
        return super().prob_real(_as_words(validate_data(self, texts, reset=False)))


def _as_words(rows: Any) -> list[str]:
    return [" ".join(f"{place}:{value:.1f}" for place, value in enumerate(row)) for row in rows]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_nothing_to_complain_of() -> None:
    results = check_estimator(_OfNumbers(), on_fail=None, on_skip=None)
    assert len(results) > 50
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}  # texts are no arrays of an array library
    # Of texts themselves scikit-learn checks only that the estimator can be cloned.
    for result in check_estimator(ta.discriminators.Logistic(), on_fail=None, on_skip=None):
        assert result["status"] == "passed"


def test_pipelines_searches_and_cross_validation_work() -> None:
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = make_pipeline(lower, ta.discriminators.NaiveBayes())
    scores = cross_val_score(pipeline, [text.upper() for text in TEXTS], IS_REAL, cv=3, scoring="balanced_accuracy")
    assert scores.mean() > 0.6
    search = GridSearchCV(ta.discriminators.NaiveBayes(), {"max_order": [1, 2]}, cv=2).fit(TEXTS, IS_REAL)
    assert search.best_params_["max_order"] in (1, 2)
    assert "max_order" in repr(ta.discriminators.NaiveBayes(max_order=2))
    copy = clone(search.best_estimator_)
    assert not hasattr(copy, "classes_")
    assert copy.set_params(max_order=3).get_params()["max_order"] == 3
    fitted = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(fitted.predict(NEW), search.predict(NEW))


def test_columns_and_other_names_of_classes_are_taken() -> None:
    frame = pd.DataFrame({"text": TEXTS, "origin": ["real" if real else "model" for real in IS_REAL]})
    classifier = ta.discriminators.Svm().fit(frame["text"], frame["origin"])
    assert classifier.classes_.tolist() == ["model", "real"]
    by_bools = ta.discriminators.Svm().fit(TEXTS, IS_REAL)
    np.testing.assert_array_equal(classifier.predict_proba(NEW), by_bools.predict_proba(NEW))
    assert set(classifier.predict(NEW)) <= {"model", "real"}


@pytest.mark.feature("JJ-42")
def test_a_meta_evaluator_judges_new_generators_without_being_fitted_again(tmp_path: Path) -> None:
    ta.discriminators.Logistic().fit(TEXTS, IS_REAL).save_pretrained(tmp_path)
    judge = ta.discriminators.from_pretrained(tmp_path)
    near, far = sentences(200, 5), sentences(200, 6, shift=0.6)
    assert np.mean(judge.predict(far)) < np.mean(judge.predict(near)) - 0.2


def test_mistakes_are_told() -> None:
    classifier = ta.discriminators.NaiveBayes()
    with pytest.raises(NotFittedError, match="call fit first"):
        classifier.predict(NEW)
    with pytest.raises(TypeError, match="NaiveBayes has no parameter 'layers'"):
        ta.discriminators.NaiveBayes(layers=2)
    with pytest.raises(InputError, match=r"y must have shape \(300,\), one class a text, got \(299,\)"):
        classifier.fit(TEXTS, IS_REAL[1:])
    with pytest.raises(OptionError, match="Only binary classification"):
        classifier.fit(TEXTS[:3], ["a", "b", "c"])
    with pytest.raises(OptionError, match="got one class"):
        classifier.fit(TEXTS[:150], IS_REAL[:150])
    with pytest.raises(TooFewSentencesError, match="1 distinct text"):
        classifier.fit(["a b", "c d", "c d"], [True, False, False])
    with pytest.raises(OptionError, match="alpha must be above 0"):
        ta.discriminators.NaiveBayes(alpha=-1).fit(TEXTS, IS_REAL)


def test_a_folder_cannot_run_code(tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> Any:
            return print, ("harm",)

    with pytest.raises(InputError, match="is not a discriminator folder"):
        ta.discriminators.from_pretrained(tmp_path)
    ta.discriminators.NaiveBayes().fit(TEXTS, IS_REAL).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="holds a NaiveBayes: use that class"):
        ta.discriminators.Logistic.from_pretrained(tmp_path)
    content = (tmp_path / "discriminator.bin").read_bytes()
    start = content[: content.index(b"\n")].rpartition(b" ")[0] + b" "
    arrays = (tmp_path / "discriminator.safetensors").read_bytes()
    memo = b"\x80\x04Nr\xff\xff\xff\xf0."  # would make place for four billion objects
    for objects, message in (
        (pickle.dumps(Harm()), r"may not name builtins\.print"),
        (memo, "not written by textassay"),
        (b"\x80\x04\x8c\x05arraxK\x00\x86Q.", "may not hold arrays called 'arrax'"),
    ):
        (tmp_path / "discriminator.bin").write_bytes(start + saved_checksum(arrays, objects) + objects)
        with pytest.raises(InputError, match=message):
            ta.discriminators.from_pretrained(tmp_path)


@pytest.mark.parametrize("name", ["discriminator.bin", "discriminator.safetensors"])
def test_a_damaged_folder_says_so(tmp_path: Path, name: str) -> None:
    ta.discriminators.NaiveBayes().fit(TEXTS, IS_REAL).save_pretrained(tmp_path)
    content = (tmp_path / name).read_bytes()
    for damaged in (content[:-20], content[:-30] + bytes(30), content[:-1] + bytes([content[-1] ^ 1])):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(InputError, match="truncated or damaged: its checksum differs"):
            ta.discriminators.from_pretrained(tmp_path)


def test_a_folder_of_another_version_says_so(tmp_path: Path) -> None:
    ta.discriminators.NaiveBayes().fit(TEXTS, IS_REAL).save_pretrained(tmp_path)
    content = (tmp_path / "discriminator.bin").read_bytes()
    (tmp_path / "discriminator.bin").write_bytes(content.replace(b" 2 ", b" 1 ", 1))
    with pytest.raises(InputError, match="of another version of textassay: fit it again and save it"):
        ta.discriminators.from_pretrained(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_the_meaning_of_every_setting_stands_with_the_class(name: str) -> None:
    document = str(_class(name).__doc__)
    for setting in _class(name)().get_params():
        assert setting in ("tokenizer", "lowercase", "seed") or f"{setting}\n    " in document


def test_all_names_are_classifiers() -> None:
    assert all(issubclass(_class(name), TextClassifier) for name in NAMES)
