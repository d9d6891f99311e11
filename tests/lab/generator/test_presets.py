"""The page that sets every preset beside its paper: ``python tests/lab/generator/test_presets.py`` writes it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textassay.discriminator.catalog import make_discriminator
from textassay_lab.adversarial.cot import CoT
from textassay_lab.adversarial.leakgan import LeakGan
from textassay_lab.adversarial.rankgan import RankGan
from textassay_lab.adversarial.scratchgan import ScratchGan
from textassay_lab.adversarial.seqgan import SeqGan
from textassay_lab.adversarial.wgan import Wgan
from textassay_lab.generator.catalog import presets_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "presets.md"

DD = "Cai et al., *Distributional Discrepancy*"
EB = "He et al., *Quantifying Exposure Bias*"
JJ = "Garbacea et al., *Judge the Judges*"
LM = "Tevet et al., *Evaluating Text GANs as Language Models*"
TEXT, CODE, NOTHING = "text", "code", "no value"


@dataclass(frozen=True)
class Row:
    """A setting: what the paper has, where it says so, and what the preset has."""

    setting: str
    paper: Any
    where: str
    ours: Any
    reason: str = ""


def _of(kind: str, preset: str, papers: dict[str, tuple[Any, str]], reasons: dict[str, str]) -> list[Row]:
    settings = dict(presets_of(kind)[preset])
    return _rows(settings, papers, reasons)


def _rows(settings: dict[str, Any], papers: dict[str, tuple[Any, str]], reasons: dict[str, str]) -> list[Row]:
    recipe = settings.get("recipe")
    own = {**settings, **({} if recipe is None else vars(recipe))}
    return [Row(name, *value, own.get(name), reasons.get(name, "")) for name, value in papers.items()]


def _gan(preset: tuple[Any, Any], papers: dict[str, tuple[Any, str]], reasons: dict[str, str]) -> list[Row]:
    network, recipe = preset
    learnt = vars(network["recipe"]) if "recipe" in network else {}
    own = {**learnt, **network, **{f"rounds: {name}": value for name, value in vars(recipe).items()}}
    return [Row(name, *value, own.get(name), reasons.get(name, "")) for name, value in papers.items()]


def _cnn(name: str, papers: dict[str, tuple[Any, str]], reasons: dict[str, str]) -> list[Row]:
    judge: Any = make_discriminator(name)
    return [Row(key, *value, getattr(judge.recipe, key), reasons.get(key, "")) for key, value in papers.items()]


LSTM = {
    "width": (512, TEXT),
    "layers": (2, TEXT),
    "dropout": (0.5, TEXT),
    "init_range": (0.05, CODE),
    "batch_size": (128, TEXT),
    "learning_rate": (1e-3, TEXT),
    "max_norm": (10.0, CODE),
    "max_epochs": (80, TEXT),
}
GPT2 = {
    "width": (768, TEXT),
    "layers": (12, TEXT),
    "heads": (12, TEXT),
    "dropout": (0.1, CODE),
    "batch_size": (128, TEXT),
    "learning_rate": (2e-5, TEXT),
    "max_norm": (None, CODE),
}
XL = {
    "width": (410, TEXT),
    "feedforward_width": (2100, TEXT),
    "layers": (16, TEXT),
    "heads": (10, CODE),
    "dropout": (0.1, CODE),
    "segment": (150, CODE),
    "memory": (150, CODE),
    "memory_reset_prob": (0.03, TEXT),
    "batch_size": (60, CODE),
    "learning_rate": (2.5e-4, CODE),
    "schedule": ("cosine", CODE),
    "max_norm": (0.25, CODE),
}
TRANSLATION = {
    "width": (512, CODE),
    "feedforward_width": (1024, CODE),
    "encoder_layers": (6, CODE),
    "decoder_layers": (6, CODE),
    "heads": (4, CODE),
    "dropout": (0.3, CODE),
    "label_smoothing": (0.1, CODE),
    "batch_tokens": (4096, CODE),
    "learning_rate": (5e-4, CODE),
    "schedule": ("inverse-sqrt", CODE),
    "warmup_steps": (4000, CODE),
    "beta2": (0.98, CODE),
    "weight_decay": (1e-4, CODE),
}
ATT2SEQ = {
    "width": (512, TEXT),
    "layers": (2, TEXT),
    "context_width": (64, TEXT),
    "dropout": (0.2, TEXT),
    "init_range": (0.08, TEXT),
    "batch_size": (50, TEXT),
    "optimizer": ("rmsprop", TEXT),
    "learning_rate": (2e-3, TEXT),
    "max_value": (5.0, TEXT),
}
C2S = {
    "width": (512, NOTHING),
    "context_width": (64, NOTHING),
    "dropout": (0.2, NOTHING),
    "learning_rate": (1e-3, NOTHING),
}
SEQGAN = {
    "width": (32, CODE),
    "batch_size": (64, CODE),
    "dropout": (0.0, CODE),
    "max_epochs": (120, CODE),
    "learning_rate": (1e-2, CODE),
    "max_norm": (5.0, CODE),
    "rounds: rounds": (200, CODE),
    "rounds: pretraining_rounds": (50, CODE),
    "rounds: generator_steps": (1, CODE),
    "rounds: refreshes": (5, CODE),
    "rounds: discriminator_epochs": (3, CODE),
    "rounds: negatives": (10_000, CODE),
    "rounds: roll_outs": (16, TEXT),
    "rounds: roll_out_averaging": (0.8, CODE),
    "rounds: discount": (0.95, CODE),
    "rounds: adversarial_learning_rate": (1e-2, CODE),
    "rounds: discriminator_learning_rate": (1e-4, CODE),
    "rounds: discriminator_width": (64, CODE),
    "rounds: discriminator_dropout": (0.25, CODE),
    "rounds: discriminator_filters": (
        {1: 100, 2: 200, 3: 200, 4: 200, 5: 200, 6: 100, 7: 100, 8: 100, 9: 100, 10: 100, 15: 160, 20: 160},
        CODE,
    ),
}
RANKGAN = {
    **{name: SEQGAN[name] for name in ("width", "batch_size", "max_epochs", "rounds: discriminator_width")},
    "rounds: discriminator_dropout": SEQGAN["rounds: discriminator_dropout"],
    "rounds: pretraining_rounds": (50, CODE),
    "rounds: references": (4, CODE),
    "rounds: roll_outs": (16, CODE),
    "rounds: roll_out_averaging": (0.8, CODE),
    "rounds: baseline": ("none", TEXT),
    "rounds: discriminator_filters": ("those of SeqGAN and two longer ones", CODE),
}
LEAKGAN = {
    "width": (32, CODE),
    "goal": (16, CODE),
    "memory": (4, CODE),
    "sharpness": (1.5, CODE),
    "feature_width": (64, CODE),
    "rounds: max_norm": (5.0, CODE),
    "rounds: roll_outs": (4, CODE),
    "rounds: rounds": (800, CODE),
    "rounds: cycles": (10, CODE),
    "rounds: pretraining_refreshes": (5, CODE),
    "rounds: discriminator_epochs": (3, CODE),
    "rounds: epochs": (8, CODE),
}
COT = {
    "width": (32, CODE),
    "rounds: mediator_width": (64, CODE),
    "rounds: batch_size": (64, CODE),
    "rounds: learning_rate": (1e-3, CODE),
    "rounds: beta1": (0.9, CODE),
    "rounds: beta2": (0.95, CODE),
    "rounds: mediator_learning_rate": (3e-3, CODE),
    "rounds: mediator_dropout": (0.5, CODE),
    "rounds: rounds": ("not given", TEXT),
}
SCRATCHGAN = {
    "width": (512, CODE),
    "layers": (2, CODE),
    "embedding_width": (64, CODE),
    "fixed_width": (300, CODE),
    "rounds: batch_size": (512, CODE),
    "rounds: discriminator_width": (512, CODE),
    "rounds: discriminator_dropout": (0.1, CODE),
    "rounds: discriminator_penalty": (1e-6, CODE),
    "rounds: learning_rate": (9.59e-5, CODE),
    "rounds: discriminator_learning_rate": (9.38e-3, CODE),
    "rounds: beta1": (0.5, CODE),
    "rounds: discount": (0.23, CODE),
    "rounds: baseline_decay": (0.08, CODE),
}
WGAN = {
    "width": (512, CODE),
    "noise": (10.0, CODE),
    "rounds: critic_width": (512, CODE),
    "rounds: length": (32, CODE),
    "rounds: critic_updates": (10, CODE),
    "rounds: generator_updates": (50, CODE),
    "rounds: batch_size": (64, CODE),
    "rounds: learning_rate": (1e-4, CODE),
    "rounds: beta1": (0.5, CODE),
    "rounds: beta2": (0.9, CODE),
    "rounds: gradient_penalty": (10.0, CODE),
}
CNN = {"max_epochs": (120, CODE), "patience": ("none", CODE), "learning_rate": (1e-4, TEXT)}

TABLES: list[tuple[str, str, Callable[[], list[Row]]]] = [
    ("`lstm`, preset `paper`", DD, lambda: _of("lstm", "paper", LSTM, {})),
    (
        "`gpt2`, preset `paper`",
        DD,
        lambda: _of(
            "gpt2",
            "paper",
            {**GPT2, "max_epochs": (80, TEXT)},
            {"max_epochs": "the epochs of their code; `paper-80` has those of their text"},
        ),
    ),
    ("`gpt2`, preset `paper-80`", DD, lambda: _of("gpt2", "paper-80", {**GPT2, "max_epochs": (80, TEXT)}, {})),
    (
        "discriminator `cnn-paper`",
        DD,
        lambda: _cnn(
            "cnn-paper",
            CNN,
            {"patience": "until validation accuracy has converged, as in their text; `cnn-paper-120` is their code"},
        ),
    ),
    ("discriminator `cnn-paper-120`", DD, lambda: _cnn("cnn-paper-120", {**CNN, "patience": (None, CODE)}, {})),
    ("`transformer-xl`, preset `paper`", EB, lambda: _of("transformer-xl", "paper", XL, {})),
    ("`translation`, preset `paper`", EB, lambda: _of("translation", "paper", TRANSLATION, {})),
    (
        "`lstm`, preset `exposure-600`",
        EB,
        lambda: _of("lstm", "exposure-600", {"width": (600, TEXT), "layers": (3, TEXT)}, {}),
    ),
    (
        "`lstm`, preset `exposure-512`",
        EB,
        lambda: _of("lstm", "exposure-512", {"width": (512, TEXT), "layers": (1, TEXT)}, {}),
    ),
    (
        "`lstm`, preset `exposure-32`",
        EB,
        lambda: _of("lstm", "exposure-32", {"width": (32, TEXT), "layers": (1, TEXT)}, {}),
    ),
    ("`scratchgan`, preset `paper`", EB, lambda: _gan(ScratchGan.presets["paper"], SCRATCHGAN, {})),
    (
        "`rankgan`, preset `paper`",
        EB,
        lambda: _gan(
            RankGan.presets["paper"],
            RANKGAN,
            {
                "rounds: baseline": "without one, rewards below 0 for every sentence make all samples less likely",
                "rounds: discriminator_filters": "how long the two are, nothing says: 30 and 40",
            },
        ),
    ),
    ("`cot`, preset `paper`", EB, lambda: _gan(CoT.presets["paper"], COT, {"rounds: rounds": "ours"})),
    (
        "`lstm`, preset `reviews`",
        JJ,
        lambda: _of(
            "lstm",
            "reviews",
            {
                "width": (512, NOTHING),
                "layers": (2, NOTHING),
                "dropout": (0.5, NOTHING),
                "learning_rate": (1e-3, NOTHING),
                "max_norm": (5.0, NOTHING),
            },
            {},
        ),
    ),
    ("`c2s` and `gc2s`, preset `paper`", JJ, lambda: _of("c2s", "paper", C2S, {})),
    ("`att2seq`, preset `paper`", f"{JJ}, after Dong et al.", lambda: _of("att2seq", "paper", ATT2SEQ, {})),
    (
        "`seqgan`, preset `paper`",
        JJ,
        lambda: _gan(
            SeqGan.presets["paper"],
            SEQGAN,
            {"rounds: discount": "discounted where used, says the code, which does not use it by default"},
        ),
    ),
    (
        "`leakgan`, preset `paper`, sentences of 20 tokens",
        JJ,
        lambda: _gan(LeakGan.presets["paper"], {**LEAKGAN, "rounds: learning_rate": (1.5e-3, CODE)}, {}),
    ),
    (
        "`leakgan`, preset `paper-40`, sentences of 40 tokens",
        JJ,
        lambda: _gan(LeakGan.presets["paper-40"], {**LEAKGAN, "rounds: learning_rate": (5e-4, CODE)}, {}),
    ),
    (
        "`seqgan`, preset `characters`",
        LM,
        lambda: _gan(
            SeqGan.presets["characters"],
            {
                "embedding_width": (8, CODE),
                "width": (512, CODE),
                "batch_size": (64, CODE),
                "max_epochs": (480, CODE),
                "learning_rate": (1e-2, CODE),
                "rounds: pretraining_rounds": (200, CODE),
                "rounds: rounds": (200, CODE),
                "rounds: roll_outs": (16, CODE),
                "rounds: discriminator_dropout": (0.25, CODE),
            },
            {},
        ),
    ),
    ("`wgan`, preset `paper`", LM, lambda: _gan(Wgan.presets["paper"], WGAN, {})),
]

HEAD = """# Presets beside their papers

After this page you know where each setting of a paper's preset comes from, and where a preset differs. *Text*: the
paper says so; *code*: the public code of the paper or of its system has it; *no value*: the paper gives none, and
the usual one stands there. A test makes the table from the code; a setting that differs without a reason fails it.

| preset | paper | text | code | no value | differs |
|---|---|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    return HEAD + "".join(f"| {' | '.join(_cells(title, paper, rows()))} |\n" for title, paper, rows in TABLES)


def _cells(title: str, paper: str, rows: list[Row]) -> list[str]:
    by_source = [
        ", ".join(_setting(row.setting, row.ours) for row in rows if row.where == where and not row.reason)
        for where in (TEXT, CODE, NOTHING)
    ]
    differing = "; ".join(
        f"{_setting(row.setting, row.ours)}, in the {row.where} {_value(row.paper)}: {row.reason}"
        for row in rows
        if row.reason
    )
    return [title, paper, *by_source, differing]


def _setting(name: str, value: Any) -> str:
    return f"`{name.replace(': ', '.')}={_value(value)}`"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{window}:{count}" for window, count in value.items())
    return "none" if value is None else str(value)


def test_every_cell_that_differs_from_its_paper_has_a_reason() -> None:
    for title, _, rows in TABLES:
        for row in rows():
            same = (dict(row.ours) if isinstance(row.paper, dict) else row.ours) == row.paper
            assert same != bool(row.reason), f"{title}, {row.setting}: {row.paper} in the paper, {row.ours} here"


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"write it anew: python {Path(__file__).name}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
