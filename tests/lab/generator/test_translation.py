"""The translation model: learning pairs by heart, what it may look at, probabilities, saving, drawing."""

from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.errors import InputError, OptionError
from textassay_lab.exposure.translation_bleu import translation_bleu
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.module import begun
from textassay_lab.generator.parallel import ParallelText
from textassay_lab.generator.saved import load_model, save_model
from textassay_lab.generator.translation_decoding import translate
from textassay_lab.generator.translation_model import TranslationModel, TranslationNetwork, pair_batch, token_batches

torch = pytest.importorskip("torch")

WORDS = ["rot", "grün", "blau", "haus", "baum", "hund", "katze", "geht", "steht", "schläft"]
TURNED = {word: word.upper() for word in WORDS}


def made_up_pairs(n: int, *, seed: int, longest: int = 7) -> tuple[list[str], list[str]]:
    """Return sources and translations: each word in capitals, in reverse order."""
    rng = np.random.default_rng(seed)
    sources = [rng.choice(WORDS, size=rng.integers(1, longest + 1)).tolist() for _ in range(n)]
    return [" ".join(words) for words in sources], [" ".join(TURNED[word] for word in words[::-1]) for words in sources]


def made(**settings: Any) -> TranslationModel:
    return cast(TranslationModel, make_generator("translation", preset="tiny", **settings))


def pairs_of(sources: list[str], targets: list[str]) -> ParallelText:
    return ParallelText.from_texts(sources, targets, TextForm.learn([*sources, *targets]))


def fitted_to_a_hundred(max_epochs: int) -> tuple[TranslationModel, ParallelText]:
    pairs = pairs_of(*made_up_pairs(100, seed=1))
    sizes = {"width": 64, "feedforward_width": 128}
    settings = {**sizes, "max_epochs": max_epochs, "warmup_steps": 80, "learning_rate": 4e-3}
    return made(**settings, batch_tokens=256, seed=4).fit(pairs), pairs


@pytest.fixture(scope="module")
def by_heart() -> tuple[TranslationModel, ParallelText]:
    """Return a model that learnt 100 pairs by heart."""
    return fitted_to_a_hundred(120)


@pytest.fixture(scope="module")
def taught() -> tuple[TranslationModel, ParallelText]:
    """Return a model that learnt for a quarter of that."""
    return fitted_to_a_hundred(30)


@pytest.mark.slow
@pytest.mark.feature("EB-28")
def test_it_learns_a_hundred_pairs_by_heart(by_heart: tuple[TranslationModel, ParallelText]) -> None:
    model, pairs = by_heart
    losses = [epoch.loss for epoch in model.history.epochs]
    assert losses[-1] < 0.1 * losses[0]
    found = translate(model, pairs.source, width=4)
    right = [one == other for one, other in zip(found.corpus.texts, pairs.target.texts, strict=True)]
    assert np.mean(right) >= 0.95
    np.testing.assert_allclose(found.log_probs, model.log_prob(found.corpus, source=pairs.source), atol=1e-3)
    np.testing.assert_allclose(found.scores, found.log_probs / (found.corpus.lengths + 1), rtol=1e-12)
    assert found.n_cut == 0


@pytest.mark.feature("EB-28")
def test_bleu_rises_with_training(taught: tuple[TranslationModel, ParallelText]) -> None:
    longer, pairs = taught
    beginner = made(max_epochs=2, width=64, feedforward_width=128, batch_tokens=256, seed=4).fit(pairs)
    found = [
        translation_bleu(
            translate(model, pairs.source, width=1).corpus.texts, pairs.target.texts, tokenizer="none"
        ).value
        for model in (beginner, longer)
    ]
    assert found[0] < 0.5 * found[1]


@pytest.mark.feature("EB-28")
def test_padding_of_the_source_is_not_looked_at(taught: tuple[TranslationModel, ParallelText]) -> None:
    model, pairs = taught
    alone = np.concatenate(
        [model.log_prob(one.target, source=one.source) for one in map(pairs.take, np.arange(9)[:, None])]
    )
    together = model.log_prob(pairs.target.take(np.arange(9)), source=pairs.source.take(np.arange(9)))
    np.testing.assert_allclose(together, alone, atol=1e-4)
    other = model.log_prob(pairs.target.take(np.arange(9)), source=pairs.source.take(np.arange(9) + 20))
    assert (np.abs(other - together) > 1).all(), "the source itself is looked at"


@pytest.mark.slow
def test_what_comes_later_is_not_looked_at(by_heart: tuple[TranslationModel, ParallelText]) -> None:
    model, pairs = by_heart
    some = pairs.take(np.flatnonzero(pairs.target.lengths == 5)[:6])
    whole = model.prefix_logits(some, np.arange(6))
    for length in range(6):
        begun = Corpus(
            some.target.tokens.reshape(-1, 5)[:, :length].ravel(),
            np.arange(7) * length,
            some.target.vocabulary,
            [""] * 6,
            tokenizer="whitespace",
        )
        rows = model.next_log_probs(begun, source=some.source)
        expected = torch.log_softmax(torch.from_numpy(whole[:, length]).double(), 1).numpy()
        np.testing.assert_allclose(rows, expected, atol=1e-4)
        np.testing.assert_allclose(np.exp(rows).sum(1), 1, rtol=1e-9)


def test_probabilities_of_all_translations_sum_to_one() -> None:
    texts = [" ".join(words) for length in range(5) for words in product("ab", repeat=length)]
    pairs = pairs_of(["a b"] * len(texts), texts)
    model = made(seed=3, max_epochs=1).fit(pairs.take(np.arange(7)))
    short = np.exp(model.log_prob(pairs.target, source=pairs.source)).sum()
    longest = Corpus.from_texts([text for text in texts if len(text.split()) == 4], vocabulary=model.vocabulary)
    sources = Corpus.from_texts(["a b"] * len(longest), vocabulary=model.vocabulary)
    unknown = np.exp(model.next_log_probs(pairs.target, source=pairs.source))[:, 3]
    beginnings = np.exp(model.log_prob(pairs.target, source=pairs.source))
    ends = np.exp(model.next_log_probs(pairs.target, source=pairs.source))[:, 1]
    reached = beginnings / ends  # of each sentence as a beginning
    tails = (
        np.exp(model.log_prob(longest, source=sources)) / np.exp(model.next_log_probs(longest, source=sources))[:, 1]
    )
    go_on = tails * (1 - np.exp(model.next_log_probs(longest, source=sources))[:, 1])
    shorter = np.array([len(text.split()) < 4 for text in texts])
    assert short + (reached * unknown)[shorter].sum() + go_on.sum() == pytest.approx(1, abs=1e-5)


def test_the_loss_is_smoothed_as_written_down() -> None:
    rng = torch.Generator().manual_seed(5)
    sizes: dict[str, Any] = {"width": 8, "feedforward_width": 16, "encoder_layers": 1, "decoder_layers": 1, "heads": 2}
    network = begun(lambda: TranslationNetwork(9, **sizes, dropout=0.0, label_smoothing=0.2), rng)
    vectors, wanted = torch.randn(11, 8, generator=rng), torch.randint(3, 9, (11,), generator=rng)
    log_probs = torch.log_softmax(network.logits(vectors), 1)
    even = log_probs[:, [1, 3, 4, 5, 6, 7, 8]].mean(1)  # all but <pad> and <sos>
    expected = -(0.8 * log_probs[torch.arange(11), wanted] + 0.2 * even).mean()
    assert float(network.loss(vectors, wanted).detach()) == pytest.approx(float(expected.detach()), rel=1e-5)


def test_batches_hold_every_pair_once_and_few_tokens() -> None:
    pairs = pairs_of(*made_up_pairs(300, seed=2))
    for epoch in (0, 1):
        batches = token_batches(pairs, 64, 0, epoch)
        assert sorted(np.concatenate(batches).tolist()) == list(range(300))
        for rows in batches:
            table = pair_batch(pairs, rows)
            assert max(table.source.size, table.inputs.size) <= 64
    first, again, other = (token_batches(pairs, 64, 0, epoch) for epoch in (0, 0, 1))
    assert [rows.tolist() for rows in first] == [rows.tolist() for rows in again]
    assert [rows.tolist() for rows in first] != [rows.tolist() for rows in other]


def test_a_saved_model_is_the_same_model(tmp_path: Path) -> None:
    sources, targets = made_up_pairs(30, seed=3)
    form = TextForm.learn([*sources, *targets])
    pairs = ParallelText.from_texts(sources, targets, form)
    model = made(seed=2, max_epochs=2).fit(pairs, pairs)
    save_model(model, tmp_path, form=form)  # type: ignore[arg-type]
    saved = cast(Any, load_model(tmp_path).model)
    assert (saved.name, saved.history) == (model.name, model.history)
    assert asdict(saved.recipe) == asdict(model.recipe)
    np.testing.assert_array_equal(
        saved.log_prob(pairs.target, source=pairs.source), model.log_prob(pairs.target, source=pairs.source)
    )
    assert saved.record["train"]["source_fingerprint"] == pairs.source.fingerprint
    assert saved.record["valid"]["sentences"] == 30


def test_training_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    pairs = pairs_of(*made_up_pairs(60, seed=5))
    settings: dict[str, Any] = {"dropout": 0.2, "max_epochs": 3, "seed": 6}
    whole = made(**settings).fit(pairs, pairs)

    def stop(step: Any) -> None:
        if step.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(**settings).fit(pairs, pairs, checkpoint=tmp_path / "at", checkpoint_seconds=0, progress=stop)
    resumed = made(**settings).fit(pairs, pairs, checkpoint=tmp_path / "at")
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(resumed.arrays()[name], array)
    assert resumed.history == whole.history


@pytest.mark.slow
def test_draws_follow_the_probabilities(by_heart: tuple[TranslationModel, ParallelText]) -> None:
    model, pairs = by_heart
    sources = Corpus.concatenate([pairs.source.take(np.array([3]))] * 3000)
    drawn = model.sample(3000, seed=1, temperature=3.0, context=sources)
    first = drawn.tokens[drawn.offsets[:-1][drawn.lengths > 0]]
    empty = pairs.target.take(np.array([3]))
    start = Corpus(np.empty(0, np.int32), np.zeros(2, np.int64), empty.vocabulary, [""], tokenizer="whitespace")
    expected = np.exp(model.next_log_probs(start, source=pairs.source.take(np.array([3])), temperature=3.0))[0]
    counts = np.bincount(first, minlength=len(expected))
    counts[1] = (drawn.lengths == 0).sum()
    assert np.abs(counts / 3000 - expected).max() < 0.035
    assert model.sample(5, seed=1, temperature=3.0, context=sources.take(np.arange(5))).texts == drawn.texts[:5]


@pytest.mark.slow
def test_what_is_given_stands_at_the_beginning(by_heart: tuple[TranslationModel, ParallelText]) -> None:
    model, pairs = by_heart
    some = pairs.take(np.arange(20))
    begun = pairs.target.take(np.arange(20) + 50)
    for found in (
        translate(model, some.source, prefix=begun).corpus,
        model.sample(20, seed=0, context=some.source, prefix=begun),
    ):
        for number in range(20):
            words = begun.sentence(number)
            assert found.sentence(number)[: len(words)] == words


@pytest.mark.slow
def test_what_it_refuses(by_heart: tuple[TranslationModel, ParallelText]) -> None:
    model, pairs = by_heart
    with pytest.raises(OptionError, match="needs a source for each text: set context or source, or use 'translate'"):
        model.sample(3, seed=0)
    with pytest.raises(OptionError, match="needs a source for each text"):
        model.log_prob(pairs.target)
    with pytest.raises(InputError, match="the source has 3 sentences and the translation 100"):
        model.log_prob(pairs.target, source=pairs.source.take(np.arange(3)))
    with pytest.raises(InputError, match="prefix must have 100 sentences, one a source, got 2"):
        translate(model, pairs.source, prefix=pairs.target.take(np.arange(2)))
    with pytest.raises(InputError, match="is not fitted"):
        translate(made(), pairs.source)
    with pytest.raises(OptionError, match="width must be a multiple of heads, 2, got 7"):
        made(width=7)
    with pytest.raises(OptionError, match="smoothing must be at least 0 and below 1, got 1"):
        made(label_smoothing=1.0)
