"""The two worlds of the study ``generators``: their texts, every generator trained and drawn from, what is known."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from micro_generators import micro_generators, write_reviews
from textassay.adversarial import CotRecipe, LeakGanRecipe, SeqGanRecipe
from textassay.corpus import COLUMN, Corpus, TextForm
from textassay.errors import EmptyCorpusError, InputError, TooFewSentencesError
from textassay.execution import workers
from textassay.generator import load_model, make_generator
from textassay.seeding import stream
from textassay.study import MODEL, Stage, Stages, load_draws, scale_named
from textassay.study.generators import (
    DRAWN,
    FLOOR,
    GENERATORS,
    GENERATORS_SCALES,
    LESS_TEXT,
    ORACLE,
    OTHER_DOMAIN,
    PAPER_NAMES,
    REAL,
    AnswersAsDrawn,
    GeneratorsScale,
    GeneratorsTexts,
    World,
    build_worlds,
    clauses,
    costs_table,
    in_context,
    jensen_shannon,
    learnt_attributes,
    read_generators_texts,
    sentences_seen,
    written,
)
from textassay.study.judges import GENERATORS as PUBLISHED

MICRO = micro_generators()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reviews(tmp_path_factory.mktemp("reviews"))


@pytest.fixture(scope="module")
def texts(folder: Path) -> GeneratorsTexts:
    return read_generators_texts(folder, MICRO)


@pytest.fixture(scope="module")
def worlds(texts: GeneratorsTexts) -> tuple[World, World]:
    return build_worlds(texts, MICRO, precision="float32", seed=0)


@pytest.fixture(scope="module")
def stages(worlds: tuple[World, World], tmp_path_factory: pytest.TempPathFactory) -> Stages:
    """Return the stages, computed."""
    found = Stages(tmp_path_factory.mktemp("study"))
    with workers(2):
        found.compute([stage for world in worlds for stage in world.targets])
    return found


def _result(stages: Stages, stage: Stage | None) -> dict[str, object]:
    assert stage is not None
    done = stages.done(stage)
    assert done is not None
    found: dict[str, object] = done.result
    return found


def test_generators_are_those_of_the_paper_and_more() -> None:
    assert tuple(PAPER_NAMES.values()) == PUBLISHED
    assert len(set(GENERATORS)) == len(GENERATORS) == 19
    assert len(LESS_TEXT) == 4


def test_parts_of_the_text_share_no_line_and_go_by_the_order_of_the_file(folder: Path, texts: GeneratorsTexts) -> None:
    lines = (folder / "yelp" / "train.txt").read_text().splitlines()
    whole = [*texts.train, *texts.real, *texts.floor, *texts.contexts]
    assert whole == lines[: len(whole)]
    assert len(texts.real) == 60 * len(GENERATORS)
    assert len(texts.floor) == len(texts.contexts) == 60
    labels = (folder / "yelp" / "train.sentiment").read_text().split()
    assert [*texts.sentiment["train"], *texts.sentiment["real"]] == labels[: 300 + 60 * len(GENERATORS)]
    assert texts.sentiment["contexts"] == tuple(labels[len(whole) - 60 : len(whole)])
    assert texts.missing == ()
    assert all(line == line.lower() for line in texts.news)


def test_what_is_missing_or_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        read_generators_texts(tmp_path / "none", MICRO)
    with pytest.raises(InputError, match=r"lacks train\.txt, valid\.txt"):
        read_generators_texts(tmp_path, MICRO)
    bare = write_reviews(tmp_path / "bare", news=False, sentiment=False)
    found = read_generators_texts(bare, MICRO)
    assert (found.missing, found.sentiment) == (("emnlp_news",), {})
    people, oracle = build_worlds(found, MICRO, precision="float32", seed=0)
    assert set(GENERATORS) - set(people.generated) == set(GENERATORS) - set(oracle.generated) == {OTHER_DOMAIN}
    (bare / "yelp" / "train.sentiment").write_text("1\n")
    with pytest.raises(InputError, match="must have 1700 labels, one for each sentence, got 1"):
        read_generators_texts(bare, MICRO)
    (bare / "yelp" / "train.sentiment").unlink()
    (bare / "emnlp_news").mkdir()
    with pytest.raises(InputError, match=r"has none of train\.txt"):
        read_generators_texts(bare, MICRO)
    (bare / "emnlp_news").rmdir()
    with pytest.raises(TooFewSentencesError, match=r"the scale laptop needs .* --scale tiny"):
        read_generators_texts(bare, scale_named(GENERATORS_SCALES, "laptop"))
    with pytest.raises(EmptyCorpusError, match="no token"):
        build_worlds(replace(found, train=("",) * 300), MICRO, precision="float32", seed=0)


def test_clauses_of_news_are_closed_and_as_short_as_reviews() -> None:
    lines = ['he said , " we do not know what it is " .', "no", "one two three four five six seven", "a - b c d"]
    assert clauses(lines, 7) == ["he said .", "b c d ."]
    assert clauses(lines, 8) == [
        "he said .",
        "we do not know what it is .",
        "one two three four five six seven .",
        "b c d .",
    ]


@pytest.mark.slow
def test_every_generator_of_both_worlds_draws_as_many_sentences_in_the_form_of_its_world(
    worlds: tuple[World, World], stages: Stages
) -> None:
    for world in worlds:
        assert tuple(world.generated) == GENERATORS
        assert list(world.parts) == [FLOOR, *GENERATORS]
        drawn = {}
        for name, one in world.generated.items():
            done = stages.done(one.drawn)
            assert done is not None
            corpus = load_draws(done.folder / f"{DRAWN}.npz", world.texts.form)
            assert len(corpus) == world.n == done.result["n"] == 60
            assert corpus.lengths.max() <= world.texts.longest
            assert done.result["mean_length"] == corpus.lengths.mean()
            drawn[name] = corpus.fingerprint
        assert len(set(drawn.values())) == len(GENERATORS)


@pytest.mark.slow
def test_costs_are_told_and_shared_by_what_shares_a_model(worlds: tuple[World, World], stages: Stages) -> None:
    for world in worlds:
        trained = {name: _result(stages, one.trained) for name, one in world.generated.items()}
        drawn = {name: _result(stages, one.drawn) for name, one in world.generated.items()}
        table = costs_table(world.name, trained, drawn)
        costs = {(cell.row, cell.column): cell.ours or 0.0 for cell in table.cells}
        assert "Word LSTM 0.7 and Word LSTM 0.5: the model of Word LSTM 1.0." in table.note
        assert all(cost > 0 for cost in costs.values())
        assert costs["SeqGAN", "seconds of training"] > costs["MLE SeqGAN", "seconds of training"]  # went before
        seen = {row: cost for (row, column), cost in costs.items() if column == "sentences seen"}
        assert seen["Word LSTM 1.0"] == 2 * 300
        assert seen["LSTM 20 %"] == 2 * 60
        assert seen["SeqGAN"] - seen["MLE SeqGAN"] == (1 + 2) * 20
        assert seen["LeakGAN"] == (1 + 2) * 20 + (1 + 1) * 300
        assert seen["CoT"] == seen["ScratchGAN"] == 1 * 2 * 16
        assert seen["bigram"] == 300


@pytest.mark.slow
def test_less_text_is_a_beginning_of_the_same_text(worlds: tuple[World, World], stages: Stages) -> None:
    people = worlds[0]
    assert people.volume == {"Word LSTM 1.0": 1.0, **LESS_TEXT}
    train = people.texts.train.corpus
    assert train is not None
    for name, share in LESS_TEXT.items():
        done = stages.done(people.generated[name].trained)
        assert done is not None
        record = load_model(done.folder / MODEL).model.record  # type: ignore[attr-defined]
        assert record["train"]["fingerprint"] == train.take(np.arange(round(300 * share))).fingerprint


@pytest.mark.slow
def test_only_the_oracle_knows_how_far_its_generators_are(worlds: tuple[World, World], stages: Stages) -> None:
    people, oracle = worlds
    assert (people.name, oracle.name) == (REAL, ORACLE)
    assert all(one.exact is None for one in people.generated.values())
    exact = {name: _result(stages, one.exact) for name, one in oracle.generated.items()}
    for name, found in exact.items():
        assert found["agrees"], name  # or a probability is not that of what was drawn
        for which in ("discrepancy", "jensen_shannon"):
            told = found[which]
            assert isinstance(told, dict)
            assert 0 <= told["low"] <= told["value"] <= told["high"] <= 1
    total = {name: found["discrepancy"]["value"] for name, found in exact.items()}  # type: ignore[index]
    assert total[OTHER_DOMAIN] == max(total.values())
    assert min(total.values()) > 0


@pytest.mark.slow
def test_the_same_seed_gives_the_same_and_another_does_not(texts: GeneratorsTexts, worlds: tuple[World, World]) -> None:
    again, other = (build_worlds(texts, MICRO, precision="float32", seed=seed) for seed in (0, 1))
    for world, same, different in zip(worlds, again, other, strict=True):
        keys = [stage.key for stage in world.targets]
        assert keys == [stage.key for stage in same.targets]
        counted = {world.generated[name].trained.key for name in ("bigram", OTHER_DOMAIN)}
        assert not set(keys) & {stage.key for stage in different.targets} - counted
    assert [stage.kind for stage in worlds[0].targets[:2]] == ["draw-real"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Word LSTM 1.0", "gC2S", "RankGAN", "LeakGAN", "ScratchGAN"])
def test_stages_do_not_depend_on_the_number_of_workers(
    worlds: tuple[World, World], stages: Stages, tmp_path: Path, name: str
) -> None:
    one = worlds[0].generated[name]
    alone = Stages(tmp_path)
    with workers(1):
        alone.compute([one.drawn])
    kept = [each.done(one.drawn) for each in (stages, alone)]
    first, second = (
        load_draws(done.folder / f"{DRAWN}.npz", worlds[0].texts.form) for done in kept if done is not None
    )
    assert first.fingerprint == second.fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Word LSTM 1.0", "RankGAN"])
def test_an_interrupted_training_ends_as_an_unbroken_one(
    worlds: tuple[World, World], stages: Stages, tmp_path: Path, name: str
) -> None:
    one, checkpoint = worlds[0].generated[name], f"train-real-{name.replace(' ', '-')}-*/*.safetensors"

    def interrupt(label: str, done: int, total: int) -> None:
        if label.startswith(f"train-real {name}: ") and list(tmp_path.glob(checkpoint)):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Stages(tmp_path, interrupt).compute([one.drawn])
    again = Stages(tmp_path)
    again.compute([one.drawn])
    kept = [each.done(one.trained) for each in (stages, again)]
    models = [load_model(done.folder / MODEL).model for done in kept if done is not None]
    assert models[0].digest == models[1].digest  # type: ignore[attr-defined]
    assert not list(tmp_path.glob(checkpoint))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* were cut at :UserWarning")
def test_what_conditional_generators_draw_answers_to_the_contexts_of_unseen_sentences(
    texts: GeneratorsTexts, worlds: tuple[World, World], stages: Stages
) -> None:
    for world, sentiment in zip(worlds, (texts.sentiment, {}), strict=True):
        for name in ("Att2Seq", "C2S", "gC2S"):
            one = world.generated[name]
            done = stages.done(one.trained)
            assert done is not None
            model = load_model(done.folder / MODEL).model
            attributes = model.attributes  # type: ignore[attr-defined]
            assert list(attributes) == [*(["sentiment"] if sentiment else []), "length", "word"]
            inputs = {stage: kept for stage in world.texts.contexts.inputs if (kept := stages.done(stage)) is not None}
            unseen = (
                world.texts.contexts.corpus
                if not inputs
                else load_draws(next(iter(inputs.values())).folder / "contexts.npz", world.texts.form)
            )
            assert unseen is not None
            given = in_context(unseen, sentiment.get("contexts"), attributes)
            drawn = stages.done(one.drawn)
            assert drawn is not None
            again = model.sample(60, seed=one.drawn.settings["seed"], context=given)
            assert load_draws(drawn.folder / f"{DRAWN}.npz", world.texts.form).texts == again.texts


def test_probabilities_of_answers_are_those_of_a_mixture_over_contexts() -> None:
    """Every sentence of two words and up to two tokens: probabilities sum to 1, and are those added up by hand."""
    lines = ["a b", "b a", "a", "b", "b b"] * 6
    form = TextForm.learn(lines)
    corpus = written(lines, form, 2)
    attributes = learnt_attributes(corpus, None, min_count=1)
    train = in_context(corpus, None, attributes)
    model = make_generator("gc2s", preset="tiny", width=8, max_length=2, attributes=attributes).fit(train)
    contexts = in_context(written(["a b", "b", "b", "a"], form, 2), None, attributes)
    one = AnswersAsDrawn(model, contexts, temperature=0.8, max_length=2)
    words = ["a", "b", "<unk>"]
    every = ["", *words, *(f"{first} {second}" for first in words for second in words)]
    ids = [[form.vocabulary.tokens.index(word) for word in text.split()] for text in every]
    sentences = Corpus(
        np.array([word for text in ids for word in text], dtype=np.int32),
        np.cumsum([0, *map(len, ids)]),
        form.vocabulary,
        every,
        tokenizer="whitespace",
    )
    found = np.exp(one.log_prob(sentences))
    assert found.sum() == pytest.approx(1.0, abs=1e-6)
    by_hand = np.zeros(len(every))
    for row in range(4):
        columns = {name: np.full(len(every), values[row]) for name, values in contexts.columns.items()}
        asked = replace(sentences, columns=columns)
        scores = model.token_log_probs(asked, temperature=0.8)
        for place, text in enumerate(ids):
            begin = sentences.offsets[place] + place
            n_scored = len(text) + (len(text) < 2)
            by_hand[place] += math.exp(scores[begin : begin + n_scored].sum()) / 4
    np.testing.assert_allclose(found, by_hand, rtol=1e-6)
    drawn = one.sample(4000, seed=0)
    counts = np.array([drawn.texts.count(text) for text in every]) / 4000
    assert np.abs(counts - found).max() < 5 * math.sqrt(0.25 / 4000)
    assert COLUMN + "length" in contexts.columns


def test_jensen_shannon_is_that_of_two_coins() -> None:
    p, q = np.array([0.9, 0.1]), np.array([0.4, 0.6])
    middle = (p + q) / 2
    truth = float((p * np.log2(p / middle) + q * np.log2(q / middle)).sum() / 2)
    inside = 0
    for seed in range(200):
        rng = stream(seed, "coins")
        drawn = [rng.choice(2, size=400, p=side) for side in (p, q)]
        found = jensen_shannon((np.log(p / q)[drawn[0]], np.log(p / q)[drawn[1]]))
        assert found["low"] < found["value"] < found["high"]
        inside += found["low"] <= truth <= found["high"]
    assert inside >= 180  # of 190 expected; below with probability 1e-4
    far = jensen_shannon((np.full(5, np.inf), np.full(5, -np.inf)))
    assert far == {"value": 1.0, "low": 1.0, "high": 1.0}


def test_sentences_count_as_often_as_they_are_shown() -> None:
    seqgan = SeqGanRecipe(pretraining_rounds=2, refreshes=5, epochs=3, n_negatives=10)
    assert [sentences_seen(seqgan, rounds, 100) for rounds in (0, 1, 2, 4)] == [0, 30, 60, 60 + 2 * 5 * 30]
    leakgan = LeakGanRecipe(
        cycles=2, pretraining_refreshes=1, pretraining_epochs=4, refreshes=2, epochs=3, n_negatives=10, mle_every=3
    )
    assert sentences_seen(leakgan, 2, 100) == 2 * (30 + 400)
    assert sentences_seen(leakgan, 5, 100) == 2 * (30 + 400) + 3 * 60 + 100
    assert sentences_seen(CotRecipe(iterations=7, batch_size=3), 2, 100) == 42


@pytest.mark.parametrize("scale", GENERATORS_SCALES.values(), ids=GENERATORS_SCALES.keys())
def test_every_scale_can_be_built(scale: GeneratorsScale, texts: GeneratorsTexts) -> None:
    made = build_worlds(texts, scale, precision="float32", seed=0)
    assert [world.n for world in made] == [scale.of_people.n_drawn, scale.of_oracle.n_drawn]
    assert all(stage.key for world in made for stage in world.targets)
