"""The study ``gan-as-lm`` at a size that takes seconds, and text for it."""

from pathlib import Path

from made_up import sentences
from textassay_lab.papers.gan_as_lm.experiment import GAN_PAPER
from textassay_lab.papers.paper import Contest, Network, Scale


def micro_scale() -> Scale:
    """Return the scale."""
    small = {"width": 8, "goal": 4, "memory": 2, "feature_width": 4, "feature_filters": ((1, 4), (2, 4))}
    return GAN_PAPER.scales["tiny"].but(
        name="micro",
        n_train=6000,
        n_valid=500,
        n_test=1500,
        lstm=Network("tiny", {"width": 16, "max_epochs": 1}),
        lstm_length=14,
        generator=Network("tiny", {"width": 8, "max_epochs": 1}),
        length=7,
        seqgan=Contest("tiny", {}, {"adversarial_learning_rate": 1e-3, "rounds": 2, "pretraining_rounds": 1,
                                    "negatives": 20, "adversarial_batch_size": 8, "discriminator_filters": {1: 4, 2:
                                    4}}),
        leakgan=Contest("tiny", small, {"rounds": 2, "cycles": 1, "epochs": 1, "mle_every": 2,
                                        "negatives": 20}),
        leakgan_runs=2,
        runs=2,
        wgan=Contest("tiny", {"width": 8}, {"length": 2, "rounds": 1, "iterations": 1, "critic_width": 8,
                                            "batch_size": 8}),
        window=50,
        n_noise=280,
        n_windows=280,
        n_window_samples=40,
        windows=(1, 7, 14),
        n_samples=200,
        most_samples=6400,
        rule_samples=100,
        rule_rows=2,
        rule_parts=2,
    )  # fmt: skip


def write_characters(folder: Path) -> Path:
    """Write training, validation and test text of letters and spaces into `folder`, and return it."""
    folder.mkdir(exist_ok=True)
    for part, (name, n) in enumerate({"train": 400, "valid": 60, "test": 120}.items()):
        text = " ".join(sentences(n, 10 + part)).replace(" .", "")
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder
