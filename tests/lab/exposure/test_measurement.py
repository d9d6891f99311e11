"""All measures together: each is what its own function gives, kept cells are found again, the undefined is said."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from exposure_runs import measure_runs
from next_word_table import random_table
from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary
from textassay.errors import OptionError
from textassay.ngram.language_model import LanguageModel
from textassay.ngram.model import NgramModel
from textassay_lab.exposure.bias import cgd_curve, eb_c, excess_error
from textassay_lab.exposure.bleu import NotForTranslationError, eb_bleu
from textassay_lab.exposure.exposure_bias import Exposure, ExposureSettings, choose_lengths, measure_exposure
from textassay_lab.generator.prefixes import model_prefixes

WORDS = Vocabulary("abcdef")
LENGTHS = (1, 3)
SETTINGS = ExposureSettings(
    kinds=("model", "shuffled"), n=60, bleu_runs=2, oracle_runs=2, distances=("tv", "kl"), n_shown=2, seed=5
)


def _corpus(seed: int, n: int = 300) -> Corpus:
    rows = model_prefixes(random_table(WORDS, seed=1), 8, n, seed=seed)
    return Corpus.from_texts([" ".join(WORDS.decode(row)) for row in rows], vocabulary=WORDS)


@pytest.fixture(scope="module")
def text() -> Corpus:
    return _corpus(1)


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return NgramModel(2).fit(_corpus(2))


@pytest.fixture(scope="module")
def oracle() -> LanguageModel:
    return NgramModel(3).fit(_corpus(3))


def _measured(model: LanguageModel, text: Corpus, settings: ExposureSettings = SETTINGS, **more: Any) -> Exposure:
    return measure_exposure(model, text, choose_lengths(text, LENGTHS), settings, **more)


def test_everything_is_what_its_own_function_gives(model: LanguageModel, oracle: LanguageModel, text: Corpus) -> None:
    found = _measured(model, text, oracle=oracle)
    size = found.lengths.sentence_length
    for kind in SETTINGS.kinds:
        alone = eb_bleu(model, text, lengths=LENGTHS, sentence_length=size, n=60, n_runs=2, prefixes=kind, seed=5)
        assert found.bleu[kind].to_dict() == alone.to_dict()
    runs = measure_runs(model, oracle, ["data", "model", "shuffled"], LENGTHS, 60, n_runs=2, seed=5)
    shuffled = eb_c(runs["data"], runs["shuffled"], "tv")
    assert cgd_curve(runs["shuffled"], "tv").values == pytest.approx(found.cgd["tv"]["shuffled"].values)
    every = measure_runs(model, oracle, ["data", "model"], range(4), 60, n_runs=2, seed=5)
    rate = eb_c(every["data"], every["model"], "kl")
    assert found.rates["kl"]["model"].values == pytest.approx(rate.values[[1, 3]])
    assert found.rates["tv"]["shuffled"].prefixes == shuffled.prefixes
    assert found.excess is not None
    assert found.excess.to_dict() == excess_error(every["data"], every["model"]).to_dict()
    assert list(found.perplexity) == ["model", "oracle"]
    assert [sample.kind for sample in found.samples] == ["data"] * 2 + ["model"] * 2 + ["shuffled"] * 2
    json.dumps(found.to_dict(), allow_nan=False)


def test_kept_cells_are_found_again(model: LanguageModel, oracle: LanguageModel, text: Corpus) -> None:
    cells: dict[str, str] = {}
    made: list[str] = []

    def keep(settings: Mapping[str, Any], make: Callable[[], Any]) -> Any:
        key = json.dumps(settings, sort_keys=True)
        if key not in cells:
            made.append(str(settings["prefixes"]))
            cells[key] = json.dumps(make(), allow_nan=False)
        return json.loads(cells[key])

    steps: list[tuple[str, int, int]] = []
    first = _measured(model, text, oracle=oracle, keep=keep, progress=lambda *step: steps.append(step))
    assert len(made) == 2 * 2 * 3
    assert [step[1:] for step in steps] == [(k, 12) for k in range(12)]
    assert _measured(model, text, oracle=oracle, keep=keep).to_dict() == first.to_dict()
    assert len(made) == 12
    more = _measured(model, text, replace(SETTINGS, kinds=("random", "model")), oracle=oracle, keep=keep)
    assert made[12:] == ["random"] * 4
    assert more.bleu["model"].to_dict() == first.bleu["model"].to_dict()
    assert _measured(model, text, oracle=oracle).to_dict() == first.to_dict()


def test_equal_models_have_no_rate_and_it_is_said(model: LanguageModel, text: Corpus) -> None:
    found = _measured(model, text, oracle=model)
    assert np.isnan(found.rates["tv"]["model"].values).all()
    assert any("EB-C is undefined where the CGD (tv) after prefixes of data is 0" in note for note in found.notes)
    assert found.to_dict()["eb_c"]["tv"]["model"]["values"] == [None, None]


def test_mistakes(model: LanguageModel, text: Corpus) -> None:
    with pytest.raises(OptionError, match="runs and samples must be at least 1"):
        _measured(model, text, replace(SETTINGS, n=0))
    with pytest.raises(OptionError, match="unknown kind of prefixes 'own'"):
        _measured(model, text, replace(SETTINGS, kinds=("own",)))

    class Translator:
        name = "translator"
        needs_source = True

    with pytest.raises(NotForTranslationError, match="translates a source"):
        _measured(Translator(), text)  # type: ignore[arg-type]


def test_an_oracle_of_the_same_name_has_its_own_perplexity(model: LanguageModel, text: Corpus) -> None:
    other = NgramModel(2).fit(_corpus(9, n=20))
    assert other.name == model.name
    found = _measured(model, text, replace(SETTINGS, bleu_runs=1, oracle_runs=1), oracle=other)
    assert found.perplexity["model"].value < found.perplexity["oracle"].value
