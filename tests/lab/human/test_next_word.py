"""The next-word task: pages, candidates, and exposure bias from workers whose habits are known."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from made_up import sentences
from textassay.corpus.corpus import Corpus, truncate
from textassay.corpus.encoding import PAD, SOS, UNK
from textassay.corpus.text_form import TextForm
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.ngram.model import NgramModel
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.parallel import ParallelText, learn_joint_form
from textassay_lab.human.html_form import html_form
from textassay_lab.human.judgements import Item, Judgements
from textassay_lab.human.label_studio import label_studio_files
from textassay_lab.human.mechanical_turk import escaped, turk_files
from textassay_lab.human.next_word import (
    END,
    INSIDE,
    NextWordScore,
    Prefix,
    build_next_word,
    candidates_of,
    draw_prefixes,
    draw_translation_prefixes,
    read_prefixes,
    score_next_word,
    share_foreseen,
    simulate_raters,
)
from textassay_lab.human.study import NONE_OF_THEM, Study, StudyItem, load_study, save_study
from textassay_lab.human.submissions import Submission, accept, collect
from textassay_lab.human.terminal import keys_of

WORDS = ("first", "second", "third", "fourth", "fifth")


def _prefixes(side: str, n: int) -> list[Prefix]:
    return [
        Prefix(f"{side} prefix {number}", tuple(f"{word}-{side}-{number}" for word in WORDS)) for number in range(n)
    ]


def _study(n: int = 200, **settings: Any) -> Study:
    return build_next_word(_prefixes("data", n), _prefixes("model", n), name="lm", **settings)


@pytest.mark.feature("EB-25")
def test_pages_of_ten_five_of_each_side_mixed_and_no_prefix_twice() -> None:
    study = _study()
    assert len(study.pages) == 40
    texts = [item.text for item in study.items]
    assert len(texts) == len(set(texts)) == 400
    orders: Counter[tuple[str | None, ...]] = Counter()
    tops: Counter[int] = Counter()
    for page in study.pages:
        assert Counter(item.generator for item in page.items) == {None: 5, "lm": 5}
        orders[tuple(item.generator for item in page.items)] += 1
        for item in page.items:
            assert item.top is not None
            assert item.choices[item.top].startswith("first")
            assert sorted(choice.split("-")[0] for choice in item.choices) == sorted(WORDS)
            tops[item.top] += 1
    assert max(orders.values()) <= 3  # no fixed order of the sides
    assert min(tops.values()) > 55  # of 80 expected in each place
    assert study == _study()
    assert study.pages != _study(seed=1).pages


@pytest.mark.feature("EB-25")
def test_all_forms_show_the_words_and_none_of_them(tmp_path: Path) -> None:
    study = _study(5)
    assert load_study(save_study(study, tmp_path)) == study  # JSON
    item = study.items[0]
    assert keys_of(item) == {str(place): (str(place), word) for place, word in enumerate((*item.choices, NONE_OF_THEM))}
    form = html_form(study)
    assert form.count(NONE_OF_THEM) == 10
    assert '"top"' not in form
    assert '"lm"' not in form


@pytest.mark.parametrize(
    ("n_data", "n_model", "settings", "message"),
    [
        (12, 12, {}, "a multiple of 5: got 12 of data and 12 of the model; 10 of each would fit"),
        (10, 15, {}, "10 of each would fit"),
        (3, 3, {}, "a page needs 5 prefixes of each side, got 3 of data and 3"),
        (10, 10, {"page_size": 5}, "even and at least 2, got 5"),
    ],
)
def test_what_does_not_fill_pages(n_data: int, n_model: int, settings: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        build_next_word(_prefixes("data", n_data), _prefixes("model", n_model), **settings)


def test_a_prefix_twice_and_candidates_that_are_not_different() -> None:
    data = _prefixes("data", 5)
    with pytest.raises(InputError, match="'data prefix 0' occurs 2 times"):
        build_next_word(data, [data[0], *_prefixes("model", 4)])
    with pytest.raises(InputError, match="distinct candidates"):
        Prefix("a", ("b", "b"))
    with pytest.raises(InputError, match="the same number of candidates"):
        build_next_word(data, [Prefix("a", ("b", "c")), *_prefixes("model", 4)])


def _model() -> tuple[NgramModel, Corpus]:
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in rng.integers(8, size=rng.integers(2, 9))) for _ in range(300)]
    corpus = Corpus.from_texts(texts)
    return NgramModel(order=2).fit(corpus), corpus


@pytest.mark.feature("EB-25")
def test_candidates_are_the_models_most_probable_words() -> None:
    model, corpus = _model()
    prefixes = Corpus.from_texts(["w1 w2", "w3 w0", "w7 w7"], vocabulary=corpus.vocabulary)
    log_probs = model.next_log_probs(prefixes)
    log_probs[:, UNK] = -np.inf
    for chosen, row in zip(candidates_of(model, prefixes, corpus.vocabulary, 3), log_probs, strict=True):
        best = [corpus.vocabulary.tokens[token] for token in np.argsort(-row)[:3]]
        assert list(chosen) == [END if word == "<eos>" else word for word in best]
    with pytest.raises(OptionError, match=r"n_candidates must be at most 9, .* got 10"):
        candidates_of(model, prefixes, corpus.vocabulary, 10)


def test_prefixes_drawn_from_text_and_model() -> None:
    model, corpus = _model()
    data, own = draw_prefixes(model, corpus, length=4, n=50, seed=1)
    assert len({prefix.text for prefix in (*data, *own)}) == 100
    assert all(len(prefix.text.split()) == 4 for prefix in (*data, *own))
    starts = {" ".join(text.split()[:4]) for text in corpus.texts}
    assert all(prefix.text in starts for prefix in data)
    assert (data, own) == draw_prefixes(model, corpus, length=4, n=50, seed=1)
    with pytest.raises(TooFewSentencesError, match=r"real text has \d+ distinct prefixes"):
        draw_prefixes(model, corpus, length=4, n=1_000)
    with pytest.raises(TooFewSentencesError, match=r"wrote \d distinct prefixes of 1 tokens in 320 texts"):
        draw_prefixes(model, corpus, length=1, n=8)


def test_a_file_of_prefixes(tmp_path: Path) -> None:
    path = tmp_path / "prefixes.jsonl"
    rows = [
        {"prefix": "a", "from": "data", "candidates": ["x", "y"]},
        {"prefix": "b", "from": "lm", "candidates": ["z", "y"]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    assert read_prefixes(path) == ([Prefix("a", ("x", "y"))], [Prefix("b", ("z", "y"))], "lm")
    for line, message in (
        ("{", "line 1: must be like"),
        ('{"prefix": "a", "from": "lm", "candidates": ["x", 3]}', "line 1: must be like"),
        ('{"prefix": "a", "from": "lm", "candidates": ["x", "x"]}', "line 1: .* distinct candidates"),
        (json.dumps(rows[0]), "of one model, got 0 models"),
    ):
        path.write_text(line)
        with pytest.raises(InputError, match=message):
            read_prefixes(path)


@pytest.mark.feature("EB-26")
def test_a_simulated_worker_gives_back_its_rate() -> None:
    study = _study(4_000)
    submissions = simulate_raters(study, after_data=0.27, after_own=0.25, n_raters=7)
    found = accept(study, submissions)
    assert not found.refusals  # 800 pages by seven workers: fewer than 200 each
    score = score_next_word(collect(study, found.submissions))
    assert score.n_data == score.n_model == 4_000
    assert score.cgd_data == pytest.approx(0.73, abs=0.02)
    assert score.cgd_model == pytest.approx(0.75, abs=0.02)
    assert score.eb_c == score.cgd_model / score.cgd_data
    assert score.eb_c_interval is not None
    assert score.eb_c_interval.low < 0.75 / 0.73 < score.eb_c_interval.high
    assert len(accept(study, submissions, most_pages=100).submissions) == 700


@pytest.mark.feature("EB-26")
def test_the_spread_is_that_of_five_evaluations_of_every_fifth_page() -> None:
    study = _study(100)
    right = {"data": (5, 4, 3, 4, 5), "lm": (4, 3, 1, 2, 2)}  # of the five prefixes of a page of each evaluation
    submissions = []
    for number, page in enumerate(study.pages):
        answers, seen = {}, Counter[str]()
        for item in page.items:
            side = item.generator or "data"
            agrees = seen[side] < right[side][number % 5]
            answers[item.id] = str(item.top) if agrees else "5"
            seen[side] += 1
        submissions.append(Submission(page.id, "w", answers))
    found = score_next_word(collect(study, submissions)).spreads
    wrong = {side: 1 - np.array(counts) / 5 for side, counts in right.items()}
    assert found is not None
    assert found[:2] == pytest.approx([np.std(wrong["data"], ddof=1), np.std(wrong["lm"], ddof=1)])
    assert math.isnan(found[2])  # in two of them nobody disagreed after prefixes of data


@pytest.mark.feature("EB-26")
def test_simulated_raters_take_turns_and_miss_by_chance() -> None:
    study = _study(500, judgements_per_page=3)
    submissions = simulate_raters(study, after_data=0.8, after_own=0.1, n_raters=4)
    assert submissions == simulate_raters(study, after_data=0.8, after_own=0.1, n_raters=4)
    assert submissions != simulate_raters(study, after_data=0.8, after_own=0.1, n_raters=4, seed=1)
    assert set(Counter(one.rater for one in submissions).values()) == {75}
    assert not accept(study, submissions).refusals
    assert not accept(study, submissions).open_pages
    items = {item.id: item for item in study.items}
    given = [(items[item], label) for one in submissions for item, label in one.answers.items()]
    for generator, rate in ((None, 0.8), ("lm", 0.1)):
        answers = [(item, label) for item, label in given if item.generator == generator]
        assert np.mean([label == str(item.top) for item, label in answers]) == pytest.approx(rate, abs=0.03)
        words = Counter(
            item.choices[int(label)].split("-")[0] if int(label) < 5 else NONE_OF_THEM for item, label in answers
        )
        assert set(words) == {*WORDS, NONE_OF_THEM}
        misses = [words[word] for word in (*WORDS[1:], NONE_OF_THEM)]
        assert stats.chisquare(misses).pvalue > 0.001, "what is not the likeliest word is chosen at random"
    with pytest.raises(OptionError, match="n_raters must be at least 3, as a page needs, got 2"):
        simulate_raters(study, after_data=0.8, after_own=0.1, n_raters=2)


def test_how_often_a_reader_who_knows_the_text_agrees() -> None:
    """Hand count: after two words, how often the third, or the end, is the model's likeliest."""
    model, corpus = _model()
    texts = corpus.take(np.flatnonzero(corpus.lengths >= 2)[:40])
    hits = []
    for sentence in texts.texts:
        first, second, *rest = sentence.split()
        prefix = Corpus.from_texts([f"{first} {second}"], vocabulary=corpus.vocabulary)
        ((word,),) = candidates_of(model, prefix, corpus.vocabulary, 1)
        hits.append(word == (rest[0] if rest else END))
    assert 0 < sum(hits) < 40
    assert share_foreseen(model, texts, 2) == np.mean(hits)
    assert math.isnan(share_foreseen(model, texts.take(np.arange(0)), 2))


def _translation_models() -> tuple[Any, Any, ParallelText]:
    """Return two models that learnt more and less, and pairs to translate."""
    target = sentences(160, seed=4)
    source = [line.upper() for line in target]
    pairs = ParallelText.from_texts(source, target, TextForm.learn([*source, *target]))
    models = (make_generator("translation", preset="tiny", max_epochs=n, learning_rate=0.01, seed=n) for n in (8, 5))
    fitted = [cast("Any", model).fit(pairs) for model in models]
    return fitted[0], fitted[1], pairs


@pytest.mark.feature("EB-37")
def test_a_rater_of_translations_gives_back_what_is_known_of_him(tmp_path: Path) -> None:
    """One answers as another model would: CGD is the share of prefixes with other likeliest pieces. One by chance."""
    model, other, pairs = _translation_models()
    length, n = 4, 40
    data, own = draw_translation_prefixes(model, pairs, length=length, n=n)
    assert (data, own) == draw_translation_prefixes(model, pairs, length=length, n=n)
    places = {text: place for place, text in enumerate(pairs.source.texts)}
    translations = model.translations(pairs.source)
    likeliest: dict[str, str] = {}
    deviations = []
    for side, texts in ((data, pairs.target), (own, translations)):
        rows = np.array([places[str(prefix.source)] for prefix in side])
        begun = truncate(texts.take(rows), length)
        assert set(begun.lengths.tolist()) == {length}
        assert [prefix.text for prefix in side] == [" ".join(begun.sentence(k)) for k in range(n)]
        best = []
        for each in (model, other):
            log_probs = np.array(each.next_log_probs(begun, source=pairs.source.take(rows)))
            log_probs[:, [PAD, SOS, UNK]] = -np.inf
            words = [model.vocabulary.tokens[token] for token in log_probs.argmax(1)]
            best.append([END if word == "<eos>" else word for word in words])
        assert [prefix.candidates[0] for prefix in side] == best[0]
        likeliest |= {prefix.shown: word for prefix, word in zip(side, best[1], strict=True)}
        deviations.append(np.mean([one != peer for one, peer in zip(*best, strict=True)]))
    assert min(deviations) > 0
    assert max(deviations) < 1
    study = load_study(save_study(build_next_word(data, own, name="translator"), tmp_path))
    sources = [item.text.split("\n")[0] for item in study.items]
    assert sorted(sources) == sorted(f"Source: {prefix.source}" for prefix in (*data, *own))
    assert len(set(sources)) == 2 * n
    assert study.instructions.startswith("Each item shows a sentence and the beginning of its translation.")
    answers = [
        Submission(page.id, "w", {item.id: _label(item, likeliest[item.text]) for item in page.items})
        for page in study.pages
    ]
    score = score_next_word(collect(study, accept(study, answers).submissions))
    assert (score.cgd_data, score.cgd_model) == pytest.approx(deviations)
    assert score.eb_c == pytest.approx(deviations[1] / deviations[0])
    study = replace(study, judgements_per_page=40)
    many = simulate_raters(study, after_data=0.5, after_own=0.45, n_raters=40)
    score = score_next_word(collect(study, accept(study, many).submissions))
    assert score.n_data == score.n_model == 40 * n
    assert (score.cgd_data, score.cgd_model) == pytest.approx((0.5, 0.55), abs=0.035)
    assert score.eb_c_interval is not None
    assert score.eb_c_interval.low < 1.1 < score.eb_c_interval.high


def _label(item: StudyItem, word: str) -> str:
    """Return the answer of a rater who expects `word`."""
    return item.labels[item.choices.index(word) if word in item.choices else -1]


@pytest.mark.feature("EB-37")
def test_the_source_stands_above_the_partial_translation_in_every_form() -> None:
    words = ("she", "he", "it", "then", "so")
    data, own = ([Prefix(f"and {side} {k}", words, f"und {side} <{k}>") for k in range(5)] for side in ("da", "mo"))
    study = build_next_word(data, own)
    assert {item.text for item in study.items} == {
        f"Source: und {side} <{k}>\nTranslation: and {side} {k}" for side in ("da", "mo") for k in range(5)
    }
    item = study.items[0]
    assert json.dumps(item.text).replace("<", "\\u003c") in html_form(study)
    assert json.loads(label_studio_files(study)["tasks.json"])[0]["data"]["text_0"].startswith(item.text)
    assert escaped(item.text) in turk_files(study)["pages.csv"]
    with pytest.raises(InputError, match="either all prefixes must have a source, or none"):
        build_next_word(data, _prefixes("model", 5))
    with pytest.raises(InputError, match=r"'Source: und da <0>.* occurs 2 times"):
        build_next_word(data, [data[0], *own[1:]])


def test_pieces_of_words_are_told_from_words() -> None:
    target = ["anna annas an ban"]
    form = learn_joint_form(target, target, size=262)
    corpus = form.corpus(target)
    pieces = dict.fromkeys(corpus.sentence(0))

    class Uniform:
        name = "uniform"

        def next_log_probs(self, prefixes: Corpus, *, source: Corpus) -> npt.NDArray[np.float64]:
            found = np.full((1, len(form.vocabulary)), -np.inf)
            found[0, corpus.vocabulary.encode([*pieces, "\u0120"])] = 0.0
            return found

    (words,) = candidates_of(cast("Any", Uniform()), corpus, form.vocabulary, len(pieces) + 1, source=corpus)
    begun = {piece: piece.removeprefix("\u0120") for piece in pieces}
    marked = [word if word != piece else f"{INSIDE}{word}" for piece, word in begun.items()]
    assert sorted(words) == sorted(["(a new word)", *marked])


@pytest.mark.feature("EB-26")
def test_the_201st_page_of_a_worker_is_refused() -> None:
    study = _study(1_005)
    submissions = [Submission(page.id, "w", {item.id: "5" for item in page.items}) for page in study.pages]
    found = accept(study, submissions)
    assert len(found.submissions) == 200
    assert found.refusals[0].reason == "the rater judged 200 pages before"
    judgements = collect(study, found.submissions)
    assert not judgements.value.any()  # none of them is no agreement
    assert score_next_word(judgements).cgd_model == 1


def _simulated(rng: np.random.Generator, *, n_raters: int, per_rater: int, twice: bool) -> Judgements:
    """Return judgements by raters and of prefixes that differ, whose true disagreement is 0.5 and 0.6."""
    n = n_raters * per_rater
    side = np.tile([0, 1], n // 2)
    hard = rng.choice([-0.2, 0.2], n)  # of the prefix
    lean = rng.choice([-0.15, 0.15], n_raters)
    item, rater = np.arange(n), np.repeat(np.arange(n_raters), per_rater)
    if twice:  # the next rater judges the same prefixes
        item, rater = np.tile(item, 2), np.concatenate((rater, np.roll(rater, per_rater)))
    wrong = rng.random(len(item)) < np.array([0.5, 0.6])[side[item]] + hard[item] + lean[rater]
    return Judgements(
        items=tuple(Item(str(number), "1", "", "lm" if side[number] else None) for number in range(n)),
        raters=tuple(map(str, range(n_raters))),
        item=item,
        rater=rater,
        value=1.0 - wrong,
        scale="number",
    )


@pytest.mark.slow
@pytest.mark.parametrize("twice", [False, True])
def test_intervals_cover(twice: bool) -> None:
    rng = np.random.default_rng(1)
    n_runs = 400
    covered = np.zeros(3)
    for _ in range(n_runs):
        score = score_next_word(_simulated(rng, n_raters=20, per_rater=20, twice=twice))
        for place, (bounds, truth) in enumerate(
            ((score.cgd_data_interval, 0.5), (score.cgd_model_interval, 0.6), (score.eb_c_interval, 1.2))
        ):
            assert bounds is not None
            covered[place] += bounds.low <= truth <= bounds.high
    # 0.95 within three standard errors of 400 runs; the ratio errs on the wide side, as the larger of three variances
    assert np.all(covered / n_runs > 0.917)
    assert np.all(covered / n_runs < 0.99)


@pytest.mark.feature("EB-27")
def test_a_simulated_study_of_five_groups_gives_back_ratio_and_error() -> None:
    """The spread over groups is that of whole studies of their size, drawn anew."""
    rng = np.random.default_rng(2)
    n_runs, size = 150, 100  # judgements of a group and side

    def judged(n: int) -> NextWordScore:
        wrong = rng.random(2 * n) < np.repeat([0.73, 0.75], n)
        order = rng.permutation(2 * n)  # of pages: sides are mixed
        items = tuple(Item(str(k), str(k // 10), "", "lm" if order[k] >= n else None) for k in range(2 * n))
        rater = np.arange(2 * n) % 40
        return score_next_word(
            Judgements(
                items, tuple(map(str, range(40))), np.arange(2 * n), rater, np.where(wrong[order], 0.0, 1.0), "number"
            )
        )

    scores = [judged(5 * size) for _ in range(n_runs)]
    assert np.mean([score.eb_c for score in scores]) == pytest.approx(0.75 / 0.73, abs=0.007)
    found = np.sqrt(np.mean([np.square(score.spreads or math.nan) for score in scores], axis=0))
    errors = [np.sqrt(p * (1 - p) / size) for p in (0.73, 0.75)]
    ratio = 0.75 / 0.73 * np.hypot(errors[0] / 0.73, errors[1] / 0.75)
    assert found == pytest.approx([*errors, ratio], rel=0.08)
    few = judged(4)
    assert few.spreads is None


def test_one_rater_has_intervals_by_prefix_and_undefined_is_said() -> None:
    judgements = _simulated(np.random.default_rng(0), n_raters=1, per_rater=40, twice=False)
    score = score_next_word(judgements)
    assert score.eb_c_interval is not None
    assert score.eb_c_interval.method == "t: clustered by prefix"
    value = judgements.value.copy()
    value[judgements.is_real[judgements.item]] = 1
    agreed = Judgements(judgements.items, judgements.raters, judgements.item, judgements.rater, value, "number")
    with pytest.warns(UserWarning, match="EB-C is undefined"):
        score = score_next_word(agreed)
    assert math.isnan(score.eb_c)
    assert score.to_dict()["eb_c"] is None
    assert score.cgd_data == 0


def test_other_judgements_are_refused() -> None:
    judgements = _simulated(np.random.default_rng(0), n_raters=2, per_rater=4, twice=False)
    with pytest.raises(InputError, match="of both sides"):
        score_next_word(judgements.select(~judgements.is_real))
    with pytest.raises(InputError, match="not judgements of a next-word study"):
        score_next_word(judgements.select(judgements.is_real))
    with pytest.raises(OptionError, match="level"):
        score_next_word(judgements, level=1)
