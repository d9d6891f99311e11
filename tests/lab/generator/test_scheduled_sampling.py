"""Scheduled sampling: the schedules by hand, how often tokens are the network's own, and plain likelihood as a case."""

import math
from typing import Any

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS
from textassay.errors import OptionError
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.objective import padded
from textassay_lab.generator.scheduled_sampling import SamplingSchedule
from textassay_lab.generator.scheduled_sampling_model import ScheduledSamplingModel, mixed
from textassay_lab.training.recipe import Recipe

torch = pytest.importorskip("torch")

CORPUS = Corpus.from_texts(["a b c d", "b c", "d a b", "c", "a a b c d d"] * 12)
RECIPE = Recipe(2, learning_rate=1e-2)


def fitted(mixing: str, **settings: Any) -> ScheduledSamplingModel:
    return ScheduledSamplingModel(8, sampling_schedule=mixing, batch_size=8, recipe=RECIPE, seed=3, **settings).fit(
        CORPUS, CORPUS
    )


@pytest.mark.feature("JJ-04")
@pytest.mark.parametrize(
    ("spelt", "values"),
    [
        ("linear(k=0.9,c=0.01,least=0.25)", {0: 0.9, 10: 0.8, 65: 0.25, 1000: 0.25}),
        ("linear(k=1, c=0.5)", {0: 1.0, 1: 0.5, 2: 0.0, 3: 0.0}),
        ("exponential(k=0.99)", {0: 1.0, 1: 0.99, 100: 0.99**100}),
        ("inverse-sigmoid(k=10)", {0: 10 / 11, 10: 10 / (10 + math.e), 50: 10 / (10 + math.exp(5)), 10**6: 0.0}),
        ("constant(k=0.75)", {0: 0.75, 12345: 0.75}),
    ],
)
def test_schedules_at_chosen_steps(spelt: str, values: dict[int, float]) -> None:
    schedule = SamplingSchedule.from_text(spelt)
    for step, value in values.items():
        assert schedule.prob_true(step) == pytest.approx(value, rel=1e-12)
    assert SamplingSchedule.from_text(str(schedule)) == schedule


def test_an_inverse_sigmoid_is_at_half_after_k_ln_k_steps() -> None:
    assert SamplingSchedule("inverse-sigmoid", 100).prob_true(round(100 * math.log(100))) == pytest.approx(
        0.5, abs=0.01
    )


@pytest.mark.parametrize(
    ("spelt", "message"),
    [
        ("lineer(k=1,c=1)", "unknown schedule 'lineer': did you mean linear"),
        ("linear(k=1)", r"the schedule linear needs c: linear\(k=...,c=...\)"),
        ("linear(k=1,c=0)", "c of the schedule linear must be above 0, got 0"),
        ("linear(k=2,c=1)", r"k of the schedule linear must be in \[0, 1\], got 2"),
        ("linear(k=1,c=1,least=1)", "least of the schedule linear must be at least 0 and below 1, got 1"),
        ("exponential(k=1)", "k of the schedule exponential must be above 0 and below 1, got 1"),
        ("exponential(k=nan)", "k of the schedule exponential must be above 0 and below 1, got nan"),
        ("inverse-sigmoid(k=0.5)", "k of the schedule inverse-sigmoid must be at least 1, got 0.5"),
        ("inverse-sigmoid", "the schedule inverse-sigmoid needs k"),
        ("exponential(c=1)", "unknown setting of the schedule exponential 'c'"),
        ("constant(k=much)", "k of the schedule constant must be a number, got 'much'"),
        ("constant(k=1,k=1)", "has k twice"),
        ("k=1", "a schedule must look like linear"),
    ],
)
def test_bad_schedules(spelt: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ScheduledSamplingModel(sampling_schedule=spelt)


@pytest.mark.feature("JJ-04")
def test_the_true_token_alone_is_plain_likelihood_bit_by_bit() -> None:
    always = fitted("constant(k=1)", dropout=0.2)
    plain = LstmModel(8, batch_size=8, recipe=RECIPE, dropout=0.2, seed=3).fit(CORPUS, CORPUS)
    assert always.history.epochs == plain.history.epochs
    for name, weight in plain.weights.items():
        assert torch.equal(always.weights[name], weight)
    seldom = fitted("constant(k=0)", dropout=0.2)
    assert not torch.equal(seldom.weights["embedding.weight"], plain.weights["embedding.weight"])


@pytest.mark.feature("JJ-04")
@pytest.mark.parametrize("prob_true", [1.0, 0.75, 0.3, 0.0])
def test_the_observed_rate_is_the_asked_one(prob_true: float) -> None:
    model = fitted("constant(k=1)")
    inputs = torch.from_numpy(padded(CORPUS.tokens, CORPUS.offsets, np.arange(len(CORPUS)))[0]).repeat(50, 1)
    rng = torch.Generator().manual_seed(1)
    told, own = mixed(model.module, inputs, prob_true=prob_true, rng=rng)
    words = (inputs != PAD) & (inputs != SOS)
    n = int(words.sum())
    spread = math.sqrt(prob_true * (1 - prob_true) / n)
    assert abs(1 - own.sum().item() / n - prob_true) <= 4 * spread
    by_place = [own[:, place][words[:, place]].float().mean() for place in range(1, inputs.shape[1])]
    assert max(abs(1 - rate.item() - prob_true) for rate in by_place) <= 4 * spread * math.sqrt(n / 600) + 1e-6
    both = words[:, 1:] & words[:, :-1]  # neighbours fall each by a coin of its own
    together = (own[:, 1:] & own[:, :-1])[both].float().mean().item()
    assert abs(together - (1 - prob_true) ** 2) <= 5 * 0.5 / math.sqrt(int(both.sum())) * (0 < prob_true < 1)
    assert torch.equal(told[~own], inputs[~own])
    assert not torch.isin(told[own], torch.tensor([PAD, SOS, EOS])).any()


@pytest.mark.feature("JJ-04")
def test_tokens_of_its_own_are_drawn_after_what_was_read() -> None:
    """Frequencies after each mixed beginning are the model's probabilities, its end left out."""
    model = fitted("constant(k=1)")
    inputs = torch.from_numpy(padded(CORPUS.tokens, CORPUS.offsets, np.zeros(1, int))[0]).repeat(40_000, 1)
    told, _ = mixed(model.module, inputs, prob_true=0.0, rng=torch.Generator().manual_seed(2))
    ids = CORPUS.vocabulary.tokens
    for first in range(4, len(ids)):
        rows = told[told[:, 1] == first]
        probs = np.exp(model.next_log_probs(Corpus.from_texts([ids[first]], vocabulary=CORPUS.vocabulary)))[0]
        probs[EOS] = 0.0
        probs /= probs.sum()
        found = np.bincount(rows[:, 2].numpy(), minlength=len(ids)) / len(rows)
        assert np.abs(found - probs).max() < 4 * 0.5 / math.sqrt(len(rows))
    likeliest, own = mixed(model.module, inputs[:1], prob_true=0.0, greedy=True, rng=torch.Generator().manual_seed(2))
    logits = model.next_logits(model.next_vectors(likeliest[:, 1:].numpy())[0])
    logits[:, EOS] = -math.inf
    assert own[0, 1:].all()
    assert torch.equal(likeliest[0, 1:], logits[:-1].argmax(1))


@pytest.mark.feature("JJ-04")
@pytest.mark.parametrize("greedy", [False, True])
def test_no_gradient_goes_through_the_draw(greedy: bool) -> None:
    """The gradient is that of the mixed sentence, given; the draw before it leaves nothing behind."""
    model = ScheduledSamplingModel(
        8, sampling_schedule="constant(k=0.4)", greedy=greedy, dropout=0.0, batch_size=8, seed=1
    )
    began = model.begun(len(CORPUS.vocabulary), 6, torch.Generator().manual_seed(0))
    with model.in_training(began, CORPUS.vocabulary, CORPUS.tokenizer) as network:
        weights = list(network.parameters())
        objective = model.objective(CORPUS, network, seed=0)
        batch = objective.batches(0)[2]
        loss = objective.loss(batch, torch.Generator().manual_seed(5))
        gradients = torch.autograd.grad(loss, weights)
        inputs, targets = (torch.from_numpy(part) for part in padded(CORPUS.tokens, CORPUS.offsets, batch[1]))
        rng = torch.Generator().manual_seed(5)
        told, own = mixed(network, inputs, prob_true=0.4, greedy=greedy, rng=rng)
        assert own.any()
        assert not told.requires_grad
        logits = torch.nn.functional.linear(network(told), *network.output_layer())
        again = torch.nn.functional.cross_entropy(logits[targets != PAD], targets[targets != PAD])
        assert loss.item() == pytest.approx(again.item(), rel=1e-6)
        for found, expected in zip(gradients, torch.autograd.grad(again, weights), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-7)


@pytest.mark.feature("JJ-04")
def test_steps_are_counted_through_all_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []

    def prob_true(schedule: SamplingSchedule, step: int) -> float:
        steps.append(step)
        return 0.5

    monkeypatch.setattr(SamplingSchedule, "prob_true", prob_true)
    fitted("exponential(k=0.5)")
    assert steps == list(range(16))


def test_it_has_a_name_and_settings_of_its_own() -> None:
    model = make_generator(
        "scheduled-sampling", preset="tiny", sampling_schedule="exponential(k=0.5)", greedy=True, seed=4
    )
    assert isinstance(model, ScheduledSamplingModel)
    assert model.name == "scheduled-sampling(width=32, mixing=exponential(k=0.5), greedy)"
    assert (model.recipe.schedule, model.settings["sampling_schedule"]) == ("linear", "exponential(k=0.5)")
    kept = {name: value for name, value in model.settings.items() if name not in ("recipe", "seed")}
    again = make_generator("scheduled-sampling", seed=4, **kept, **model.settings["recipe"])
    assert isinstance(again, ScheduledSamplingModel)
    assert again.settings == model.settings
    windows = ScheduledSamplingModel(4, length=3, sampling_schedule="constant(k=0.5)", recipe=Recipe(1))
    windows.fit(Corpus.from_texts(["a b c", "b c a"] * 8))
    assert windows.name == "scheduled-sampling(width=4, length=3, mixing=constant(k=0.5))"
    assert set(windows.sample(5, seed=0).lengths.tolist()) == {3}
