"""The convolutional discriminator: its network, its objective, its optimum on a toy, what training keeps, its doors."""

import importlib.util
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.special import expit

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.base import Pair, balanced_accuracy, balanced_cross_entropy
from textassay.errors import MissingExtraError, OptionError
from textassay.execution.threads import parallel_map, workers
from textassay.metric.catalog import parse_metric
from textassay.metric.discrepancy import dd
from textassay_lab.generator.module import begun
from textassay_lab.judges.cnn import FAST, PAPER, CnnDiscriminator
from textassay_lab.judges.network import N_PADS, PAD, RARE, Sentences, WordRows
from textassay_lab.judges.networks import CnnNetwork
from textassay_lab.training.recipe import Recipe

torch = pytest.importorskip("torch")

SPACE = ["A A", "A B", "B A", "B B"]
P = np.array([0.25, 0.25, 0.25, 0.25])
Q = np.array([0.81, 0.09, 0.05, 0.05])
SHORT = Recipe(2, learning_rate=1e-3)


def some_sentences(n: int, n_rows: int, seed: int = 0, most: int = 14) -> Sentences:
    """Return random sentences of 0 to `most` - 1 words, padded."""
    rng = np.random.default_rng(seed)
    parts = [np.append(rng.integers(RARE, n_rows, length), [PAD] * N_PADS) for length in rng.integers(0, most, n)]
    return Sentences(np.concatenate(parts), np.concatenate(([0], np.cumsum([len(part) for part in parts]))))


def cnn_network(n_words: int, *, seed: int) -> CnnNetwork:
    """Return the network of the paper with initial weights."""
    build = partial(CnnNetwork, n_words, dimension=512, filters={2: 100, 3: 200}, dropout=0.5)
    return begun(build, torch.Generator().manual_seed(seed))


def plain_convolution(network: CnnNetwork, sentences: Sentences, length: int) -> Any:
    """Return the pooled filters, all sentences padded to `length`, straight from PyTorch's convolution."""
    table = np.full((len(sentences), length), PAD)
    for row, (start, stop) in enumerate(zip(sentences.offsets[:-1], sentences.offsets[1:], strict=True)):
        table[row, : stop - start] = sentences.words[start:stop]
    vectors = torch.nn.functional.embedding(torch.from_numpy(table), network.words.weight).transpose(1, 2)
    maps = [torch.nn.functional.conv1d(vectors, bank.weight) for bank in network.filters]
    return torch.cat([each.max(dim=2).values for each in maps], dim=1)


def filler(n: int, seed: int, extra: str) -> list[str]:
    words = np.random.default_rng(seed).choice([f"w{number}" for number in range(40)], (n, 5))
    return [" ".join(np.insert(row.astype(object), index % 5, extra)) for index, row in enumerate(words)]


def pairs(n: int = 300, real: str = "good", generated: str = "bad") -> tuple[Pair, Pair, Pair]:
    """Return training, validation and test pairs of filler with a word that says which side it is."""
    corpora = corpora_from_texts({"real": filler(3 * n, 0, real), "generated": filler(3 * n, 1, generated)})
    parts = [np.arange(n) + start for start in (0, n, 2 * n)]
    first, second, third = ((corpora["real"].take(part), corpora["generated"].take(part)) for part in parts)
    return first, second, third


@pytest.fixture(scope="module")
def fitted() -> tuple[CnnDiscriminator, tuple[Pair, Pair, Pair]]:
    parts = pairs()
    return CnnDiscriminator(min_sentences=1).fit(parts[0], parts[1]), parts


@pytest.mark.feature("DD-04")
def test_the_network_has_the_papers_shapes_and_size() -> None:
    judge = CnnDiscriminator(PAPER)
    network = begun(partial(judge.new_network, cast(WordRows, SimpleNamespace(n_rows=5690))), torch.Generator())
    assert network.dropout == 0.5
    weights = dict(network.named_parameters())
    assert {name: tuple(weight.shape) for name, weight in weights.items()} == {
        "words.weight": (5690, 512),
        "filters.0.weight": (100, 512, 2),
        "filters.0.bias": (100,),
        "filters.1.weight": (200, 512, 3),
        "filters.1.bias": (200,),
        "highway.weight": (300, 300),
        "highway.bias": (300,),
        "gate.weight": (300, 300),
        "gate.bias": (300,),
        "head.weight": (2, 300),
        "head.bias": (2,),
    }
    assert all(weight.requires_grad for weight in weights.values())
    assert sum(weight.numel() for weight in weights.values()) == 3_504_382
    words = weights["words.weight"].detach()
    assert words.abs().max() <= 1
    assert words.var().item() == pytest.approx(1 / 3, abs=0.002)
    assert set(weights["filters.1.bias"].tolist()) == {weights["filters.0.bias"][0].item()}
    assert weights["filters.0.bias"][0].item() == pytest.approx(0.1)
    assert not weights["gate.bias"].any()
    sentences = some_sentences(7, 5690)
    assert network.pooled_by_look_up(sentences).shape == (7, 300)
    assert network.logits(sentences).shape == (7, 2)


@pytest.mark.parametrize("seed", [0, 1])
def test_looking_up_gives_what_the_convolution_gives_with_its_gradients(seed: int) -> None:
    sentences = some_sentences(40, 30, seed)
    assert (np.diff(sentences.offsets) == N_PADS).any(), "no empty sentence"
    found, losses = [], []
    for pooled_by in (
        CnnNetwork.pooled_by_look_up,
        CnnNetwork.pooled_by_convolution,
        lambda network, rows: plain_convolution(network, rows, 40),  # far more padding changes nothing
    ):
        network = cnn_network(30, seed=seed)
        weights = dict(network.named_parameters())
        pooled = pooled_by(network, sentences)
        loss = (torch.sin(pooled) * torch.linspace(0.5, 1.5, 300)).mean()
        loss.backward()
        gradients = [
            np.asarray(weights[name].grad) for name in ("words.weight", "filters.0.weight", "filters.1.weight")
        ]
        found.append([pooled.detach().numpy(), *gradients])
        losses.append(loss.item())
    for other in (1, 2):
        assert losses[0] == pytest.approx(losses[other], abs=1e-6)
        for mine, theirs in zip(found[0], found[other], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.feature("DD-04")
@pytest.mark.feature("DD-05")
def test_the_loss_is_binary_cross_entropy_and_the_penalty() -> None:
    """With the network written out in NumPy, in float64, from the pooled convolution on."""
    network = cnn_network(50, seed=1)
    weights = dict(network.named_parameters())
    sentences = some_sentences(20, 50)
    is_real = np.repeat([1, 0], 10)
    w = {name: weight.detach().double().numpy() for name, weight in weights.items()}
    pooled = plain_convolution(network, sentences, 20).detach().double().numpy()
    y = np.maximum(pooled + np.concatenate([w["filters.0.bias"], w["filters.1.bias"]]), 0)
    t = expit(y @ w["gate.weight"].T + w["gate.bias"])
    y = t * np.maximum(y @ w["highway.weight"].T + w["highway.bias"], 0) + (1 - t) * y
    logits = y @ w["head.weight"].T + w["head.bias"]
    np.testing.assert_allclose(network.logits(sentences).detach().numpy(), logits, rtol=1e-4, atol=1e-4)
    scores = expit(logits[:, 1] - logits[:, 0])
    penalty = 0.2 * ((w["head.weight"] ** 2).sum() + (w["head.bias"] ** 2).sum()) / 2
    expected = balanced_cross_entropy(scores[:10], scores[10:]) + penalty
    assert network.loss(sentences, is_real, None).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.feature("DD-04", "DD-05")
def test_dropout_leaves_out_half_and_keeps_the_mean() -> None:
    network = cnn_network(50, seed=1)
    weights = dict(network.named_parameters())
    sentences = some_sentences(4, 50)
    with torch.no_grad():
        weights["head.bias"].zero_()
        plain = network.logits(sentences).numpy()
        drawn = np.array(
            [network.logits(sentences, torch.Generator().manual_seed(seed)).numpy() for seed in range(200)]
        )
    error = drawn.std(axis=0) / np.sqrt(200)
    assert np.all(error > 0)
    assert np.all(np.abs(drawn.mean(axis=0) - plain) < 4.5 * error)
    with torch.no_grad():
        weights["head.weight"][:, 1:] = 0  # one filter is left, and it is there doubled, or not
        weights["filters.0.bias"][0] = 100
        one = network.logits(sentences).numpy()
        drawn = np.array(
            [network.logits(sentences, torch.Generator().manual_seed(seed)).numpy() for seed in range(200)]
        )
    assert np.all((drawn == 0) | np.isclose(drawn, 2 * one, rtol=1e-5))
    assert np.mean(drawn == 0) == pytest.approx(0.5, abs=4.5 * np.sqrt(0.25 / (200 * 4)))


@pytest.mark.feature("DD-05")
@pytest.mark.parametrize(("n_real", "n_generated"), [(50, 50), (50, 130), (130, 50)])
def test_batches_are_half_real_half_generated_and_use_every_sentence(
    monkeypatch: pytest.MonkeyPatch, n_real: int, n_generated: int
) -> None:
    corpora = corpora_from_texts(
        {"real": [f"r{n}" for n in range(n_real)], "generated": [f"g{n}" for n in range(n_generated)]}
    )
    pair = (corpora["real"], corpora["generated"])
    seen: list[tuple[list[int], np.ndarray]] = []

    def loss(network: Any, sentences: Sentences, is_real: np.ndarray, rng: Any) -> Any:
        assert isinstance(rng, torch.Generator), "no dropout in training"
        seen.append((sentences.words[sentences.offsets[:-1]].tolist(), is_real))
        return (network.head.weight**2).sum()

    monkeypatch.setattr(CnnNetwork, "loss", loss)
    CnnDiscriminator(Recipe(3), batch_size=32, min_sentences=1).fit(pair, pair)
    n_batches = -(-n_real // 16)
    assert len(seen) == 3 * n_batches
    real, generated = [], []
    for words, is_real in seen:
        half = len(words) // 2
        assert len(words) == 2 * half <= 32
        assert is_real.tolist() == [1] * half + [0] * half
        real.append(words[:half])
        generated.append(words[half:])
    for epoch in range(3):
        once = np.concatenate(real[epoch * n_batches : (epoch + 1) * n_batches]).tolist()
        assert sorted(once) == sorted(set(once))
        assert len(once) == n_real
    counts = np.unique(np.concatenate(generated), return_counts=True)[1]
    assert len(counts) == n_generated
    assert counts.max() - counts.min() <= 1
    assert real[0] != real[n_batches]


@pytest.mark.slow
@pytest.mark.feature("DD-05")
@pytest.mark.parametrize(("n_real", "n_generated"), [(16_000, 16_000), (16_000, 6_000)])
def test_the_optimum_on_the_toy_approaches_the_ratio_of_densities(n_real: int, n_generated: int) -> None:
    rng = np.random.default_rng(0)
    corpora = corpora_from_texts(
        {
            "real": [SPACE[index] for index in rng.choice(4, n_real, p=P)],
            "generated": [SPACE[index] for index in rng.choice(4, n_generated, p=Q)],
            "space": SPACE,
        }
    )
    pair = (corpora["real"], corpora["generated"])
    judge = CnnDiscriminator(Recipe(1, schedule="linear"), batch_size=256).fit(pair, pair)
    assert judge.prob_real(corpora["space"]) == pytest.approx(P / (P + Q), abs=0.05)


@pytest.mark.slow
@pytest.mark.feature("DD-04")
@pytest.mark.parametrize(
    ("real", "generated"),
    [("good", "bad"), ("x y", "y x"), ("x y z", "z y x")],  # a word, an order of two, an order of three
)
def test_what_is_easily_told_apart_is_told_apart(real: str, generated: str) -> None:
    train, valid, test = pairs(300, real, generated)
    judge = CnnDiscriminator(min_sentences=1, batch_size=128).fit(train, valid)
    assert balanced_accuracy(judge.prob_real(test[0]), judge.prob_real(test[1])) > 0.99


@pytest.mark.feature("DD-06")
def test_the_best_logged_accuracy_is_the_one_restored() -> None:
    """Sides that are hardly different: accuracies go up and down, and the last is not the best."""
    train, valid, _ = pairs(150, "w1", "w2")
    judge = CnnDiscriminator(Recipe(12, learning_rate=1e-3), batch_size=64).fit(train, valid)
    logged = judge.chosen["valid_accuracies"]
    assert len(logged) == judge.chosen["epochs"] == 12
    assert logged[-1] < max(logged)
    real, generated = (judge.prob_real(side) for side in valid)
    assert balanced_accuracy(real, generated) == max(logged) == logged[judge.chosen["best_epoch"] - 1]


@pytest.mark.feature("DD-06")
def test_training_ends_when_validation_accuracy_has_converged() -> None:
    assert (PAPER.max_epochs, PAPER.patience, PAPER.learning_rate, PAPER.schedule) == (120, 20, 1e-4, "constant")
    assert (PAPER.averaging, PAPER.max_norm, CnnDiscriminator(PAPER).batch_size) == (0, None, 512)
    assert FAST.max_epochs == PAPER.max_epochs // 10
    train, valid, _ = pairs(60)
    judge = CnnDiscriminator(Recipe(50, patience=3, learning_rate=1e-3), min_sentences=1, batch_size=64)
    chosen = judge.fit(train, valid).chosen
    assert chosen["converged"]
    assert chosen["epochs"] == chosen["best_epoch"] + 3 < 50


@pytest.mark.feature("DD-06")
def test_test_sentences_are_judged_once_after_training(monkeypatch: pytest.MonkeyPatch) -> None:
    corpora = corpora_from_texts({"real": filler(100, 0, "good"), "generated": filler(100, 1, "bad")})
    judged: list[tuple[str, ...]] = []
    encode = WordRows.encode

    def spy(words: WordRows, corpus: Corpus) -> Sentences:
        judged.append(tuple(corpus.texts))
        return encode(words, corpus)

    monkeypatch.setattr(WordRows, "encode", spy)
    estimate = dd(corpora["generated"], corpora["real"], discriminator=CnnDiscriminator(SHORT), folds=1)
    train, valid, test = (estimate.details[f"n_{part}"] for part in ("train", "valid", "test"))
    assert (train["real"], valid["real"], test["real"]) == (80, 10, 10)
    assert [len(texts) for texts in judged] == [80, 80, 10, 10, 10, 10, 10, 10]  # fit on two parts; then judge two
    assert not {*judged[6], *judged[7]} & set().union(*judged[:6])


def test_the_same_bits_in_any_number_of_threads_whatever_else_was_read(
    fitted: tuple[CnnDiscriminator, tuple[Pair, Pair, Pair]],
) -> None:
    judge, (train, valid, test) = fitted
    alone = judge.prob_real(test[0])
    texts = {f"{part} {side}": pair[side].texts for part, pair in enumerate((train, valid, test)) for side in (0, 1)}
    more = corpora_from_texts({"more": ["w7 other bad words", "w3 good w1"], **texts})
    state = torch.get_rng_state()
    with workers(2):
        again = parallel_map(
            lambda _: (
                CnnDiscriminator(min_sentences=1)
                .fit((more["0 0"], more["0 1"]), (more["1 0"], more["1 1"]))
                .prob_real(more["2 0"])
            ),
            range(2),
        )
    assert torch.equal(torch.get_rng_state(), state)
    assert all(np.array_equal(alone, other) for other in again)
    other = CnnDiscriminator(min_sentences=1, seed=1).fit(train, valid)
    assert not np.array_equal(alone, other.prob_real(test[0]))


def test_any_sentence_gets_a_probability(fitted: tuple[CnnDiscriminator, tuple[Pair, Pair, Pair]]) -> None:
    judge, parts = fitted
    strange = Corpus.from_texts(["", "good", "bad", "never seen words", "good " * 500])
    scores = judge.prob_real(strange)
    assert np.all((scores >= 0) & (scores <= 1))
    assert scores[1] > 0.5 > scores[2]
    assert judge.prob_real(strange.take(np.arange(0))).shape == (0,)
    many = Corpus.concatenate([parts[2][0]] * 8)
    np.testing.assert_allclose(judge.prob_real(many), np.tile(judge.prob_real(parts[2][0]), 8), rtol=1e-4)


def test_sides_of_nothing_but_empty_sentences() -> None:
    corpora = corpora_from_texts({"real": [""] * 50, "generated": [""] * 50, "full": ["a b c"] * 50})
    same = dd(corpora["generated"], corpora["real"], discriminator=CnnDiscriminator(SHORT), folds=1)
    assert same.value == 0
    judge = CnnDiscriminator(FAST, batch_size=16)
    assert dd(corpora["full"], corpora["real"], discriminator=judge, folds=1).value == 1


def test_rare_words_share_a_vector() -> None:
    corpora = corpora_from_texts(
        {"real": ["a b b", "a c", "<unk> <unk>"], "generated": ["c d d", "<unk> e"], "new": ["e a zzz d c"]}
    )
    words = WordRows.build((corpora["real"], corpora["generated"]), 2)
    encoded = words.encode(corpora["new"])
    rows = encoded.words.tolist()
    assert words.n_rows == 4  # padding, rare, "a", "c"
    assert rows[0] == rows[2] == rows[3] == RARE
    assert {rows[1], rows[4]} == {2, 3}
    assert rows[5:] == [PAD] * 3
    assert set(words.encode(corpora["real"]).words.tolist()) == {PAD, RARE, rows[1], rows[4]}


def test_names_and_signatures_say_the_settings(fitted: tuple[CnnDiscriminator, tuple[Pair, Pair, Pair]]) -> None:
    assert parse_metric("dd(discriminator=cnn)").name == "dd(discriminator=cnn)"
    assert parse_metric("dd(discriminator=cnn-paper, folds=1)").name == "dd(discriminator=cnn-paper,folds=1)"
    assert CnnDiscriminator(PAPER, seed=2).features == (
        "words in >=2 sentences, 512-d, 100 filters of 2, 200 filters of 3, highway, dropout 0.5, L2 0.2, "
        "Adam 0.0001 constant, averaging 0, batch 512, 120 epochs or 20 without gain, seed 2"
    )
    chosen = fitted[0].chosen
    assert chosen["n_words"] == 44
    assert chosen["n_parameters"] == 3_504_382 - (5690 - 44) * 512


def test_fit_leaves_the_discriminator_as_it_was() -> None:
    train, valid, _ = pairs(20)
    judge = CnnDiscriminator(SHORT)
    judge.fit(train, valid)
    assert judge.chosen == {}
    with pytest.raises(OptionError, match="must be fitted"):
        judge.prob_real(train[0])


def test_bad_settings_and_a_missing_pytorch_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="batch_size must be at least 2, got 1"):
        CnnDiscriminator(batch_size=1)
    with pytest.raises(OptionError, match="min_sentences must be at least 1, got 0"):
        CnnDiscriminator(min_sentences=0)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="the cnn discriminator needs the 'neural' extra"):
        parse_metric("dd(discriminator=cnn)")
