"""The stages of the study ``generators``: its texts, every generator trained and drawn from."""

from dataclasses import replace
from pathlib import Path

import pytest

from micro_generators import micro_generators, write_reviews
from textassay.errors import EmptyCorpusError, InputError, TooFewSentencesError
from textassay.execution.threads import workers
from textassay_lab.adversarial.cot import CotRecipe
from textassay_lab.adversarial.leakgan import LeakGanRecipe
from textassay_lab.adversarial.seqgan import SeqGanRecipe
from textassay_lab.generator.saved import load_model
from textassay_lab.papers.draws import load_draws
from textassay_lab.papers.generators.experiment import build_generators
from textassay_lab.papers.generators.results import costs_table
from textassay_lab.papers.generators.texts import (
    DRAWN,
    FLOOR,
    GENERATORS,
    GENERATORS_SCALES,
    OTHER_DOMAIN,
    PAPER_NAMES,
    GeneratorsScale,
    GeneratorStages,
    GeneratorsTexts,
    clauses,
    in_context,
    learnt_attributes,
    read_generators_texts,
)
from textassay_lab.papers.generators.training import sentences_seen
from textassay_lab.papers.judges.published import GENERATORS as PUBLISHED
from textassay_lab.papers.network_stages import MODEL
from textassay_lab.papers.presets import scale_named
from textassay_lab.papers.stages import Stage, Stages

MICRO = micro_generators()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reviews(tmp_path_factory.mktemp("reviews"))


@pytest.fixture(scope="module")
def texts(folder: Path) -> GeneratorsTexts:
    return read_generators_texts(folder, MICRO)


@pytest.fixture(scope="module")
def built(texts: GeneratorsTexts) -> GeneratorStages:
    return build_generators(texts, MICRO, precision="float32", seed=0)


@pytest.fixture(scope="module")
def stages(built: GeneratorStages, tmp_path_factory: pytest.TempPathFactory) -> Stages:
    """Return the stages, computed."""
    found = Stages(tmp_path_factory.mktemp("study"))
    with workers(2):
        found.compute(built.targets)
    return found


def _result(stages: Stages, stage: Stage) -> dict[str, object]:
    done = stages.done(stage)
    assert done is not None
    found: dict[str, object] = done.result
    return found


def test_generators_are_those_of_the_paper_and_more() -> None:
    assert tuple(PAPER_NAMES.values()) == PUBLISHED
    assert len(set(GENERATORS)) == len(GENERATORS) == 15


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
    without = build_generators(found, MICRO, precision="float32", seed=0)
    assert set(GENERATORS) - set(without.generated) == {OTHER_DOMAIN}
    corpus = without.texts.train.corpus
    assert corpus is not None
    assert list(learnt_attributes(corpus, None, min_count=20)) == ["length", "word"]
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
        build_generators(replace(found, train=("",) * 300), MICRO, precision="float32", seed=0)


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
def test_every_generator_draws_as_many_sentences_in_the_form_of_the_text(
    built: GeneratorStages, stages: Stages
) -> None:  # fmt: skip
    assert tuple(built.generated) == GENERATORS
    assert list(built.parts) == [FLOOR, *GENERATORS]
    drawn = {}
    for name, one in built.generated.items():
        done = stages.done(one.drawn)
        assert done is not None
        corpus = load_draws(done.folder / f"{DRAWN}.npz", built.texts.form)
        assert len(corpus) == built.n == done.result["n"] == 60
        assert corpus.lengths.max() <= built.texts.longest
        assert done.result["mean_length"] == corpus.lengths.mean()
        drawn[name] = corpus.fingerprint
    assert len(set(drawn.values())) == len(GENERATORS)


@pytest.mark.slow
def test_costs_are_told_and_shared_by_what_shares_a_model(built: GeneratorStages, stages: Stages) -> None:
    trained = {name: _result(stages, one.trained) for name, one in built.generated.items()}
    drawn = {name: _result(stages, one.drawn) for name, one in built.generated.items()}
    table = costs_table(trained, drawn)
    costs = {(cell.row, cell.column): cell.ours or 0.0 for cell in table.cells}
    assert "Word LSTM 0.7 and Word LSTM 0.5: the model of Word LSTM 1.0." in table.note
    assert all(cost > 0 for cost in costs.values())
    assert costs["SeqGAN", "seconds of training"] > costs["MLE SeqGAN", "seconds of training"]  # went before
    seen = {row: cost for (row, column), cost in costs.items() if column == "sentences seen"}
    assert seen["Word LSTM 1.0"] == 2 * 300
    assert seen["SeqGAN"] - seen["MLE SeqGAN"] == (1 + 2) * 20
    assert seen["LeakGAN"] == (1 + 2) * 20 + (1 + 1) * 300
    assert seen["CoT"] == seen["ScratchGAN"] == 1 * 2 * 16
    assert seen["bigram"] == 300


@pytest.mark.slow
def test_the_same_seed_gives_the_same_and_another_does_not(texts: GeneratorsTexts, built: GeneratorStages) -> None:
    same, other = (build_generators(texts, MICRO, precision="float32", seed=seed) for seed in (0, 1))
    keys = [stage.key for stage in built.targets]
    assert keys == [stage.key for stage in same.targets]
    assert not set(keys) & {stage.key for stage in other.targets}
    assert {stage.kind for stage in built.targets} == {"draw"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Word LSTM 1.0", "gC2S", "RankGAN", "LeakGAN", "ScratchGAN"])
def test_stages_do_not_depend_on_the_number_of_workers(
    built: GeneratorStages, stages: Stages, tmp_path: Path, name: str
) -> None:
    one = built.generated[name]
    alone = Stages(tmp_path)
    with workers(1):
        alone.compute([one.drawn])
    kept = [each.done(one.drawn) for each in (stages, alone)]
    first, second = (load_draws(done.folder / f"{DRAWN}.npz", built.texts.form) for done in kept if done is not None)
    assert first.fingerprint == second.fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Word LSTM 1.0", "RankGAN"])
def test_an_interrupted_training_ends_as_an_unbroken_one(
    built: GeneratorStages, stages: Stages, tmp_path: Path, name: str
) -> None:
    one, checkpoint = built.generated[name], f"train-{name.replace(' ', '-')}-*/*.safetensors"

    def interrupt(label: str, done: int, total: int) -> None:
        if label.startswith(f"train {name}: ") and list(tmp_path.glob(checkpoint)):
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
    texts: GeneratorsTexts, built: GeneratorStages, stages: Stages
) -> None:
    unseen = built.texts.contexts.corpus
    assert unseen is not None
    for name in ("Att2Seq", "C2S", "gC2S"):
        one = built.generated[name]
        done, drawn = stages.done(one.trained), stages.done(one.drawn)
        assert done is not None
        assert drawn is not None
        model = load_model(done.folder / MODEL).model
        attributes = model.attributes  # type: ignore[attr-defined]
        assert list(attributes) == ["sentiment", "length", "word"]
        given = in_context(unseen, texts.sentiment["contexts"], attributes)
        again = model.sample(60, seed=one.drawn.settings["seed"], context=given)
        assert load_draws(drawn.folder / f"{DRAWN}.npz", built.texts.form).texts == again.texts


def test_sentences_count_as_often_as_they_are_shown() -> None:
    seqgan = SeqGanRecipe(pretraining_rounds=2, refreshes=5, discriminator_epochs=3, negatives=10)
    assert [sentences_seen(seqgan, rounds, 100) for rounds in (0, 1, 2, 4)] == [0, 30, 60, 60 + 2 * 5 * 30]
    leakgan = LeakGanRecipe(
        cycles=2, pretraining_refreshes=1, epochs=4, refreshes=2, discriminator_epochs=3, negatives=10, mle_every=3
    )
    assert sentences_seen(leakgan, 2, 100) == 2 * (30 + 400)
    assert sentences_seen(leakgan, 5, 100) == 2 * (30 + 400) + 3 * 60 + 100
    assert sentences_seen(CotRecipe(iterations=7, batch_size=3), 2, 100) == 42


@pytest.mark.parametrize("scale", GENERATORS_SCALES.values(), ids=GENERATORS_SCALES.keys())
def test_every_scale_can_be_built(scale: GeneratorsScale, texts: GeneratorsTexts) -> None:
    made = build_generators(texts, scale, precision="float32", seed=0)
    assert made.n == scale.n_drawn
    assert all(stage.key for stage in made.targets)
