"""The study ``generators`` at a size that takes seconds, and text for it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from made_up import sentences
from textassay_lab.papers.generators.texts import GENERATORS_SCALES, GeneratorsScale
from textassay_lab.papers.presets import Network


def micro_generators(*, n_train: int = 300, n_drawn: int = 60) -> GeneratorsScale:
    """Return the scale; generators are trained, but learn little."""
    tiny = GENERATORS_SCALES["tiny"]
    recipes = tiny.recipes
    lstm = Network("tiny", {"width": 8, "max_epochs": 2})
    few: dict[str, Any] = {
        "rounds": 2,
        "pretraining_rounds": 1,
        "negatives": 20,
        "adversarial_batch_size": 8,
        "discriminator_filters": {1: 4, 2: 4},
    }
    small: dict[str, Any] = {"rounds": 1, "iterations": 2, "batch_size": 16}
    recipes = replace(
        recipes,
        lstm=lstm,
        scheduled=Network("tiny", {**lstm.changes, "sampling_schedule": "linear(k=1,c=0.1,least=0.5)"}),
        conditional=Network("tiny", {**lstm.changes, "context_width": 4}),
        before_rounds=lstm,
        seqgan=replace(recipes.seqgan, **few),
        rankgan=replace(recipes.rankgan, **few),
        leakgan=(
            Network(
                "tiny", {"width": 8, "goal": 4, "memory": 2, "feature_width": 4, "feature_filters": ((1, 4), (2, 4))}
            ),
            replace(recipes.leakgan[1], rounds=2, cycles=1, epochs=1, mle_every=2, negatives=20),
        ),
        cot=(Network("tiny", {"width": 8, "dropout": 0.0}), replace(recipes.cot[1], mediator_width=8, **small)),
        scratchgan=(
            Network("tiny", {"width": 8, "embedding_width": 4, "fixed_width": 4, "dropout": 0.0}),
            replace(recipes.scratchgan[1], discriminator_embedding_width=4, discriminator_width=8, **small),
        ),
    )
    return replace(
        tiny,
        name="micro",
        n_train=n_train,
        n_drawn=n_drawn,
        context_count=20,
        recipes=recipes,
        n_valid=40,
        min_count=2,
    )


def write_reviews(folder: Path, *, news: bool = True, sentiment: bool = True) -> Path:
    """Write made-up reviews, in two files, with labels, and news of other words, into `folder`, and return it."""
    for name, numbers in {"yelp": (1, 2), **({"emnlp_news": (3, 4)} if news else {})}.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for part, n, seed in (("train", 1700, numbers[0]), ("valid", 60, numbers[1])):
            lines = sentences(n, seed, shift=float(name != "yelp"))
            if name != "yelp":  # longer than any review, with clauses
                lines = [f"{a} {b[:-1]}, The {c}" for a, b, c in zip(lines, lines[1:], lines[2:], strict=False)]
            elif sentiment:
                labels = "".join(f"{len(line) % 2}\n" for line in lines)
                (folder / name / f"{part}.sentiment").write_text(labels, encoding="utf-8")
            (folder / name / f"{part}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder
