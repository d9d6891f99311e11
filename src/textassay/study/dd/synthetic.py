"""The sentences of the study on synthetic text: samples of a GPT-2, trained on real text, take the place of real text.

So the probability of every sentence is known on both sides, and with it the exact discrepancy.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", section 6.2.
"""

from textassay.study.dd.judging import Texts
from textassay.study.dd.scales import FAMILIES, Scale
from textassay.study.dd.text import StudyText
from textassay.study.network_stages import Part, sampling, seed_for, training

ORIGINAL = "GPT-2"  # the family of the model that writes


def synthetic_texts(text: StudyText, scale: Scale, *, seed: int) -> Texts:
    """Return the parts that the original model writes, each a set of its own."""
    original = training(
        "original",
        FAMILIES[ORIGINAL],
        preset=scale.original,
        precision=scale.precision,
        text=Part(text.train),
        valid=Part(text.valid),
        form=text.form,
        longest=text.longest,
        seed=seed_for(seed, "original"),
        cost=float(len(text.train)),
        stage_kind="train-original",
    )
    n_judged = scale.n_judged(scale.n_drawn_train)
    counts = {
        "train": scale.n_drawn_train,
        "valid": scale.n_valid,
        "test": scale.n_test,
        "unseen": n_judged,
        "more": n_judged,
    }
    parts = {
        file: Part(
            stage=sampling(
                f"original {file}",
                original,
                {file: count},
                seed=seed_for(seed, "sample", "original"),
                longest=text.longest,
                stage_kind="sample-original",
            ),
            file=file,
        )
        for file, count in counts.items()
    }
    return Texts(
        train=parts["train"],
        valid=parts["valid"],
        test=parts["test"],
        unseen=parts["unseen"],
        more=parts["more"],
        n_train=scale.n_drawn_train,
        original=original,
    )
