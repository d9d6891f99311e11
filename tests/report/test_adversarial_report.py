"""What is printed of a training against a discriminator."""

import json
from io import StringIO

from rich.console import Console

from textassay.adversarial.history import Round, RoundsHistory
from textassay.report.adversarial_training import AdversarialTraining, render_adversarial_training
from textassay.report.training import TrainedText
from textassay.training.history import Reading

VALUES = {"judge_loss": 0.61, "variety": 1.23}
TEXT = TrainedText("train.txt", 100, 1_000, 0, 0.0)


def test_a_phase_is_one_word_in_a_terminal_of_80_columns() -> None:
    rounds = [Round(number, "discriminator", VALUES) for number in (1, 2)]
    rounds += [Round(3, "adversarial", {**VALUES, "reward": 0.4, "generator_loss": -0.3})]
    said = tuple(Reading(number, number, {"valid_nll_per_token": 4.9}) for number in (2, 3))
    history = RoundsHistory(tuple(rounds), said, kept=3)
    training = AdversarialTraining("seqgan(lstm)", 10, "whitespace", 5, TEXT, TEXT, {"device": "cpu"}, history)
    told = StringIO()
    render_adversarial_training(training, Console(file=told, width=80))
    words = [line.split()[:2] for line in told.getvalue().splitlines()]
    assert ["1", "discriminator"] in words
    assert ["3", "adversarial"] in words
    assert max(map(len, told.getvalue().splitlines())) <= 80
    assert AdversarialTraining.from_json(json.dumps(training.to_dict())) == training
