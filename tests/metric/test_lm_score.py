"""Both language model scores against plain mean costs, their intervals in simulations, models from outside."""

import math
import warnings
from dataclasses import replace
from typing import Self

import numpy as np
import numpy.typing as npt
import pytest

from made_up import WORDS, sentences, shuffled
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import Vocabulary
from textassay.errors import FindingWarning, OptionError, TooFewSentencesError, UnavailableError
from textassay.estimate import Estimate
from textassay.metric.base import Metric
from textassay.metric.catalog import parse_metric
from textassay.metric.lm_score import LIKELIER, Trained, lm_score, reverse_lm_score
from textassay.ngram.kneser_ney import LeaveOutModels, fit_kneser_ney
from textassay.ngram.language_model import LanguageModel, likelihood
from textassay.ngram.model import NgramModel

N = 300
LM_SCORE = parse_metric("lm-score")


@pytest.fixture(scope="module")
def corpora() -> dict[str, Corpus]:
    """Return real text, more of it, and draws of a trigram model of other real text at three temperatures."""
    source = NgramModel(3).fit(corpora_from_texts({"train": sentences(3000, 9)})["train"])
    drawn = {f"at {heat}": source.sample(N, seed=1, temperature=heat).texts for heat in (0.5, 1.0, 2.0)}
    return corpora_from_texts(
        {
            "real": sentences(N, 1),
            "more": sentences(N, 2),
            "shuffled": shuffled(sentences(N, 2), 0),
            "few": sentences(6, 2) * (N // 6),
            "few words": [text.replace("ba", "<eos>").replace("ben", "strange") for text in sentences(N, 2)],
            **drawn,
        }
    )


def _quietly(metric: Metric, generated: Corpus, real: Corpus) -> Estimate:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=LIKELIER)
        return metric.estimate(generated, real)


class Recorder(NgramModel):
    """A bigram model that remembers what it was given."""

    seen: tuple[Corpus, Corpus | None]
    scored: list[Corpus]

    @property
    def name(self) -> str:
        return "recorder"

    def fit(self, train: Corpus, valid: Corpus | None = None) -> Self:
        type(self).seen = (train, valid)
        type(self).scored = []
        return super().fit(train)

    def log_prob(self, corpus: Corpus, *, temperature: float = 1.0) -> npt.NDArray[np.float64]:
        self.scored.append(corpus)
        return super().log_prob(corpus, temperature=temperature)


@pytest.mark.feature("DD-16")
def test_lm_score_is_the_mean_cost_of_a_token(corpora: dict[str, Corpus]) -> None:
    real, text = corpora["real"], corpora["more"]
    estimate = lm_score(text, real)
    own = real.with_vocabulary(Vocabulary.build(real))
    model = NgramModel(estimate.details["order"]).fit(own)
    expected = likelihood(model, text)
    assert estimate.value == pytest.approx(expected.nll_per_token, abs=1e-12)
    assert estimate.details["perplexity"] == pytest.approx(expected.perplexity)
    assert estimate.details["bits_per_token"] == pytest.approx(expected.bits_per_token)
    assert estimate.details["bits_per_character"] == pytest.approx(expected.bits_per_character)
    _, used = fit_kneser_ney(own.tokens, own.offsets, order=2, n_types=len(own.vocabulary))
    assert estimate.details["discounts"] == [[found.once, found.twice, found.more] for found in used]
    assert estimate.details["order"] == 2  # the language is a bigram language
    assert estimate.sizes == {"n_generated": N, "n_real": N, "n_scored": N, "n_tokens": len(text.tokens) + N}
    assert (estimate.better, estimate.unit) == ("closer", "nats per token")
    assert estimate.evidence is not None
    assert estimate.evidence.generated_scores is not None
    assert estimate.evidence.generated_scores == pytest.approx(-model.log_prob(text) / (text.lengths + 1))
    assert estimate.evidence.generated_terms is not None
    assert estimate.evidence.real_terms is not None
    assert len(estimate.evidence.generated_terms) == N
    assert len(estimate.evidence.real_terms) == 20  # models without a group of real sentences
    # Real sentences are scored by models that never saw them, generated ones by the same models.
    unseen = estimate.details["real_nll_per_token"]
    assert estimate.details["generated_nll_per_token"] > estimate.value
    assert unseen > likelihood(model, real).nll_per_token + 0.1
    assert unseen == pytest.approx(estimate.details["generated_nll_per_token"], abs=0.15)


@pytest.mark.feature("DD-16")
def test_lower_at_a_low_temperature_and_said_to_be_no_win(corpora: dict[str, Corpus]) -> None:
    values = {}
    for heat in (0.5, 1.0, 2.0):
        values[heat] = _quietly(LM_SCORE, corpora[f"at {heat}"], corpora["real"]).value
    assert values[0.5] + 0.3 < values[1.0] < values[2.0] - 0.3
    with pytest.warns(UserWarning, match="likelier than real text: often"):
        lm_score(corpora["at 0.5"], corpora["real"])
    lm_score(corpora["at 1.0"], corpora["real"])  # a warning would be an error


@pytest.mark.feature("DD-17")
def test_reverse_score_is_of_a_model_of_generated_text_chosen_by_real_text(corpora: dict[str, Corpus]) -> None:
    real, text = corpora["real"], corpora["shuffled"]
    estimate = reverse_lm_score(text, real)
    assert estimate.evidence is not None
    assert estimate.evidence.real_scores is not None
    scores = estimate.evidence.real_scores
    chose, scored = (np.flatnonzero(found) for found in (np.isnan(scores), ~np.isnan(scores)))
    assert len(chose) == N // 10
    space = Vocabulary.build(real)
    valid_costs = {
        order: likelihood(NgramModel(order).fit(text.with_vocabulary(space)), real.take(chose)).nll_per_token
        for order in range(1, 6)
    }
    order = min(valid_costs, key=lambda order: valid_costs[order])
    assert estimate.details["order"] == order
    assert estimate.details["validation_nll"] == pytest.approx({str(key): cost for key, cost in valid_costs.items()})
    model = NgramModel(order).fit(text.with_vocabulary(space))
    assert estimate.value == pytest.approx(likelihood(model, real.take(scored)).nll_per_token, abs=1e-12)
    assert scores[scored] == pytest.approx(-model.log_prob(real.take(scored)) / (real.lengths[scored] + 1))
    assert estimate.evidence.real_terms is not None
    assert estimate.evidence.generated_terms is not None
    assert len(estimate.evidence.real_terms) == len(scored)
    assert len(estimate.evidence.generated_terms) == 20
    assert estimate.sizes["n_scored"] == len(scored)
    assert estimate.better == "lower"


@pytest.mark.feature("DD-17")
def test_reverse_score_trains_any_model_on_generated_text_alone(corpora: dict[str, Corpus]) -> None:
    real, text = corpora["real"], corpora["few"]
    given = Recorder(2)
    estimate = reverse_lm_score(text, real, model=given)
    train, valid = Recorder.seen
    assert valid is not None
    assert train.texts == text.texts
    (scored,) = Recorder.scored
    assert len(valid) == N // 10
    assert sorted([*valid.texts, *scored.texts]) == sorted(real.texts)
    assert estimate.metric == "reverse-lm-score(model=recorder)"
    assert estimate.interval is not None
    assert estimate.interval.method == "t: real sentences; language model fixed"
    with pytest.raises(Exception, match="is not fitted"):  # what came is left as it was
        given.log_prob(real)


def test_variety_shows_in_the_reverse_score_only(corpora: dict[str, Corpus]) -> None:
    forward = {name: _quietly(LM_SCORE, corpora[name], corpora["real"]).value for name in ("few", "more")}
    reverse = {name: reverse_lm_score(corpora[name], corpora["real"]).value for name in ("few", "more", "shuffled")}
    assert abs(forward["few"] - forward["more"]) < 0.4
    assert reverse["few"] > reverse["more"] + 0.4
    assert reverse["shuffled"] > reverse["more"] + 0.3


@pytest.mark.parametrize("metric", [LM_SCORE, parse_metric("reverse-lm-score")], ids=str)
def test_other_corpora_of_the_comparison_change_no_bit(metric: Metric) -> None:
    texts = {"real": sentences(40, 1), "generated": sentences(40, 2)}
    alone = corpora_from_texts(texts)
    others = corpora_from_texts({"other": [*WORDS[::-1], "strange words"], **texts})
    first, second = (_quietly(metric, found["generated"], found["real"]) for found in (alone, others))
    assert first.to_dict() == second.to_dict()


def test_words_of_one_side_only(corpora: dict[str, Corpus]) -> None:
    real, text = corpora["real"], corpora["few words"]
    words = [word for sentence in text.texts for word in sentence.split()]
    known = {word for sentence in real.texts for word in sentence.split()}
    foreign = sum(word not in known for word in words) / len(words)
    assert foreign > 0.02
    assert lm_score(text, real).details["oov_rate"] == pytest.approx(foreign)
    reverse = reverse_lm_score(text, real)
    assert reverse.details["unk_rate"] == pytest.approx(foreign)
    assert reverse.evidence is not None
    assert reverse.evidence.real_scores is not None
    scored = [text for text, score in zip(real.texts, reverse.evidence.real_scores, strict=True) if score == score]
    missing = [word not in words for sentence in scored for word in sentence.split()]
    assert reverse.details["oov_rate"] == pytest.approx(np.mean(missing))
    assert 0.01 < reverse.details["oov_rate"] < 0.5
    clean = lm_score(corpora["more"], real)
    assert clean.details["oov_rate"] == 0


def test_models_from_outside(corpora: dict[str, Corpus]) -> None:
    real, text = corpora["real"], corpora["at 1.0"]
    trained = NgramModel(2).fit(corpora["more"])
    estimate = lm_score(text, real, model=Trained(trained))
    assert estimate.metric == "lm-score(model=trained ngram(order=2))"
    assert estimate.value == pytest.approx(likelihood(trained, text).nll_per_token)
    assert estimate.details["real_nll_per_token"] == pytest.approx(likelihood(trained, real).nll_per_token)
    assert estimate.interval is not None
    assert estimate.interval.method == "t: generated sentences; language model fixed"
    estimate = lm_score(text, real, model=Recorder(2))
    train, valid = Recorder.seen
    unseen, scored = Recorder.scored
    assert valid is not None
    assert (len(train), len(valid), len(unseen)) == (240, 30, 30)
    assert sorted([*train.texts, *valid.texts, *unseen.texts]) == sorted(real.texts)
    assert scored.texts == text.texts
    assert estimate.evidence is not None
    assert estimate.evidence.real_scores is None


def test_the_generators_own_log_probabilities() -> None:
    corpora = corpora_from_texts({"real": sentences(50, 1), "g": sentences(60, 2)})
    rng = np.random.default_rng(0)
    costs = {"real": rng.gamma(9, 3, 50), "g": rng.gamma(9, 3, 60)}
    real, text = (replace(corpora[name], columns={"log_probs/g": -costs[name]}) for name in ("real", "g"))
    metric = parse_metric("lm-score(model=self)")
    assert metric.reads_columns
    assert not LM_SCORE.reads_columns
    estimate = _quietly(metric, text, real)
    assert estimate.metric == "lm-score(model=self)"
    assert estimate.value == pytest.approx(costs["g"].sum() / (len(text.tokens) + 60))
    assert estimate.details["real_nll_per_token"] == pytest.approx(costs["real"].sum() / (len(real.tokens) + 50))
    for wrong in (corpora["g"], replace(text, columns={"log_probs/h": -costs["g"]})):
        with pytest.raises(UnavailableError, match="log_probs"):
            lm_score(wrong, real, model="self")


def test_impossible_text_costs_infinitely_much() -> None:
    corpora = corpora_from_texts({"real": sentences(50, 1), "g": sentences(60, 2)})
    log_probs = -np.ones(60)
    log_probs[3] = -math.inf
    real = replace(corpora["real"], columns={"log_probs/g": -np.ones(50)})
    estimate = lm_score(replace(corpora["g"], columns={"log_probs/g": log_probs}), real, model="self")
    assert estimate.value == math.inf
    assert estimate.interval is None


def test_what_is_refused() -> None:
    corpora = corpora_from_texts(
        {"real": sentences(20, 1), "few": sentences(9, 2)}, groups={"real": np.zeros(20, dtype=np.int64)}
    )
    whole = corpora_from_texts({"real": sentences(20, 1), "few": sentences(9, 2)})
    for score in (lm_score, reverse_lm_score):
        with pytest.raises(TooFewSentencesError, match="needs at least 10 texts a side"):
            score(whole["few"], whole["real"])
        with pytest.raises(TooFewSentencesError, match="sentences of at least 2 groups, got 1"):
            score(corpora["real"], corpora["real"])
        with pytest.raises(OptionError, match="Valid: ngram"):
            score(whole["real"], whole["real"], model="ngrams")
    with pytest.raises(TooFewSentencesError, match="from different groups"):
        LeaveOutModels.fit(whole["real"], np.zeros(20, dtype=np.int64))


def test_documents_stay_whole() -> None:
    """Sentences of one document are copies: kept apart together, the copies do not help."""
    texts = [text for text in sentences(60, 1) for _ in range(5)]
    documents = np.arange(300) // 5
    corpora = corpora_from_texts({"real": texts, "g": sentences(300, 2)}, groups={"real": documents})
    alone = corpora_from_texts({"real": texts, "g": sentences(300, 2)})
    whole, split = (_quietly(LM_SCORE, found["g"], found["real"]).details for found in (corpora, alone))
    assert whole["real_nll_per_token"] > split["real_nll_per_token"] + 0.5


@pytest.mark.parametrize("metric", [LM_SCORE, parse_metric("reverse-lm-score")], ids=str)
@pytest.mark.parametrize(
    ("n", "n_draws", "rare"), [(150, 60, False), pytest.param(400, 300, True, marks=pytest.mark.slow)]
)
def test_intervals_cover_the_mean_of_many_draws(metric: Metric, n: int, n_draws: int, rare: bool) -> None:
    """Both sides are drawn anew from known sources. With few words the jackknife errs on the wide side (discounts)."""

    def drawn(seed: int, shift: float) -> list[str]:
        tails = np.random.default_rng(seed).zipf(1.5, n)
        texts = sentences(n, seed, shift=shift)
        return [f"{text} rare{tail}" for text, tail in zip(texts, tails, strict=True)] if rare else texts

    values, intervals = [], []
    for draw in range(n_draws):
        pair = corpora_from_texts({"real": drawn(2 * draw, 0.0), "g": drawn(2 * draw + 1, 0.3)})
        estimate = _quietly(metric, pair["g"], pair["real"])
        assert estimate.interval is not None
        values.append(estimate.value)
        intervals.append((estimate.interval.low, estimate.interval.high))
    low, high = np.array(intervals).T
    mean, spread = np.mean(values), np.std(values, ddof=1)
    assert np.mean((low <= mean) & (mean <= high)) >= 0.92
    assert 1.9 < np.mean(high - low) / 2 / spread < 3.6


def test_real_text_is_seldom_called_likelier_than_real_text() -> None:
    warned = 0
    for draw in range(30):
        pair = corpora_from_texts({"real": sentences(150, 2 * draw), "g": sentences(150, 2 * draw + 1)})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lm_score(pair["g"], pair["real"])
        warned += sum(not issubclass(each.category, FindingWarning) for each in caught)  # those tell of few texts
    assert warned <= 4  # 0.75 expected


def test_protocol_and_signature(corpora: dict[str, Corpus]) -> None:
    model: LanguageModel = NgramModel(2)
    assert lm_score.declaration.with_settings(model=model).name == "lm-score(model=ngram(order=2))"
    estimate = lm_score(corpora["more"], corpora["real"], level=0.8)
    expected = "metric:lm-score|order:2|ends:counted|events:real types+unk|tok:whitespace|n:300+300|seed:0|"
    assert str(estimate.signature).startswith(expected)
    assert estimate.interval is not None
    assert estimate.interval.level == 0.8
    assert "20 groups of real" in estimate.interval.method


@pytest.mark.parametrize("metric", [LM_SCORE, parse_metric("reverse-lm-score")], ids=str)
def test_an_unk_that_real_text_has_is_a_word_of_it(metric: Metric) -> None:
    """Spelt otherwise, it costs the same; what real text does not have is something else."""
    rare = dict.fromkeys(WORDS[3::4], "<unk>")
    sides = {
        name: [" ".join(rare.get(word, word) for word in text.split()) for text in sentences(N, seed)]
        for name, seed in (("real", 1), ("more", 2))
    }
    sides["more"] = [f"{text} strange" if number % 3 == 0 else text for number, text in enumerate(sides["more"])]
    spelt = {name: [text.replace("<unk>", "unknown") for text in texts] for name, texts in sides.items()}
    values = []
    for texts in (sides, spelt):
        corpora = corpora_from_texts(texts)
        values.append(_quietly(metric, corpora["more"], corpora["real"]).value)
    assert any("<unk>" in text for text in sides["real"])
    assert values[0] == pytest.approx(values[1], rel=1e-12)
