"""What is printed of a training against a discriminator."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from textassay.report.terminal import print_document
from textassay_lab.adversarial.document import AdversarialTraining, adversarial_training_document
from textassay_lab.adversarial.rounds import Round, RoundsHistory
from textassay_lab.generator.document import Monitored, TrainedText
from textassay_lab.training.history import Reading

VALUES = {"judge_loss": 0.61, "variety": 1.23}
TEXT = TrainedText("train.txt", 100, 1_000, 0, 0.0)


def test_a_phase_is_one_word_in_a_terminal_of_80_columns() -> None:
    rounds = [Round(number, "discriminator", VALUES) for number in (1, 2)]
    rounds += [Round(3, "adversarial", {**VALUES, "reward": 0.4, "generator_loss": -0.3})]
    said = tuple(Reading(number, number, {"valid_nll_per_token": 4.9}) for number in (2, 3))
    history = RoundsHistory(tuple(rounds), said, kept=3)
    training = AdversarialTraining("seqgan(lstm)", 10, "whitespace", 5, TEXT, TEXT, {"device": "cpu"}, history)
    told = StringIO()
    print_document(adversarial_training_document(training), Console(file=told, width=80))
    words = [line.split()[:2] for line in told.getvalue().splitlines()]
    assert ["1", "discriminator"] in words
    assert ["3", "adversarial"] in words
    assert max(map(len, told.getvalue().splitlines())) <= 80
    assert AdversarialTraining.from_json(json.dumps(training.to_dict())) == training


def _printed(training: AdversarialTraining) -> str:
    told = StringIO()
    print_document(adversarial_training_document(training), Console(file=told, width=80))
    return told.getvalue()


@pytest.mark.parametrize("sign", [-1, 1])
def test_no_word_and_no_number_of_many_columns_is_broken_over_two_lines(sign: int) -> None:
    names = ("judge_loss", "variety", "agreement", "mle_loss", "reward", "intrinsic", "generator_loss")
    values = {name: sign * (0.012 + index) for index, name in enumerate(names)}
    said = (Reading(1, 1, {"valid_nll_per_token": 4.973}),)
    history = RoundsHistory((Round(1, "discriminator", values),), said, kept=1)
    floor = {"textassay/self-bleu(order=4)": 0.2718}
    history = replace(history, readings=(Reading(1, 1, {"textassay/self-bleu(order=4)": 0.3142}),))
    training = AdversarialTraining("leakgan", 10, "whitespace", 5, TEXT, TEXT, {"device": "cpu"}, history)
    told = _printed(replace(training, monitored=Monitored(20, 20, floor)))
    for word in (
        *" ".join(names).replace("judge", "discriminator").replace("_", " ").split(),
        f"{sign * 0.012:.3f}",
        f"{sign * 5.012:.3f}",
        "4.973",
        "0.314",
        "0.272",
    ):
        assert word in told.split(), word
    assert max(map(len, told.splitlines())) <= 80


def test_what_maximum_likelihood_came_to_is_printed_however_many_rounds_follow() -> None:
    rounds = [Round(number, "discriminator" if number < 4 else "adversarial", VALUES) for number in range(1, 34)]
    said = tuple(Reading(number, number, {"valid_nll_per_token": number + 0.5}) for number in range(3, 34))
    history = RoundsHistory(tuple(rounds), said, kept=33)
    training = AdversarialTraining("seqgan(lstm)", 10, "whitespace", 5, TEXT, TEXT, {"device": "cpu"}, history)
    rows = {line.split()[0]: line.split() for line in _printed(training).splitlines() if line.split()}
    assert rows["3"][1] == "discriminator"
    assert rows["3"][-1].startswith("3.5")
