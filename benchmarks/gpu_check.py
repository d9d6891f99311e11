"""What only a machine with a GPU shows: right values, every model, paper sizes, memory, rates.

    make gpu-check                                                       # a Markdown table, on a GPU
    PYTHONPATH=src python3 benchmarks/gpu_check.py --only values         # a part; or a row: 'paper size: Lstm'
    PYTHONPATH=src python3 benchmarks/gpu_check.py --device cpu --small  # tiny, on a CPU: to see that it still runs

A row is printed when it ends. Rows of ``values`` fail where a number is not what it should be: log-probabilities of the
device and of the CPU, in float32, may differ by 1e-3 nats a token; the loss of a training in bfloat16 from that in
float32 by 2 %; an LSTM that is asked for bfloat16 must answer in it, and be nearer to bfloat16 than float16 would be.

Texts are drawn at random from a made-up language of `--words` words. A model of a paper's size trains on `--batches`
batches of its preset and is the second of two runs, so that kernels are loaded; peak memory is PyTorch's, NaN on a CPU.
A row whose model runs out of memory or fails says so, and the others go on; the exit status is then 1.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch

import textassay as ta
from textassay.execution.threads import device
from textassay_lab.generator.lstm_model import LstmLayer
from textassay_lab.generator.saved import load_model, save_model

RATES = "sampling rate"


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    part: str
    what: str
    seconds: float
    note: str
    peak_bytes: float


def texts(n: int, n_words: int, length: int, seed: int, *, skew: float = 1.0) -> list[str]:
    """Return `n` texts of about `length` words that are drawn by a power law."""
    rng = np.random.default_rng(seed)
    ranks = np.arange(1, n_words + 1) ** -skew
    words = np.array([f"w{number}" for number in range(n_words)])
    lengths = rng.integers(max(1, length // 2), length + 1, n)
    drawn = words[rng.choice(n_words, int(lengths.sum()), p=ranks / ranks.sum())]
    return [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


def measured(part: str, what: str, run: Callable[[], str]) -> Row:
    """Return the row of a run, whose note it returns; a failure is its note."""
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    try:
        note = run()
    except Exception as error:  # every row is tried
        note = f"FAILED: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    if on_gpu:
        torch.cuda.synchronize()
    peak = float(torch.cuda.max_memory_allocated()) if on_gpu else float("nan")
    return Row(part, what, time.perf_counter() - began, note, peak)


def counted(draw: Callable[[], list[str]]) -> str:
    """Draw texts and say how many there are."""
    return f"{len(draw())} texts drawn"


Rows = Iterator[tuple[str, str, Callable[[], str]]]  # part, what, and what runs it


def values(small: bool, on: str) -> Rows:
    """Yield comparisons of numbers on the device with what they should be."""
    preset = "tiny" if small else "small"
    train = texts(512 if small else 4096, 300, 12, 8)

    def log_probabilities(name: str) -> str:
        generator = getattr(ta.generators, name)(preset=preset, max_epochs=1).fit(train, train[:64])
        held = generator.form.corpus(train[:64])
        here = generator.model.log_prob(held)
        with tempfile.TemporaryDirectory() as folder, device("cpu"):
            save_model(generator.model, Path(folder) / "model", form=generator.form)
            there = load_model(Path(folder) / "model").model.log_prob(held)
        apart = float(np.max(np.abs(here - there) / (held.lengths + 1)))
        return judged(apart < 1e-3, f"at most {apart:.1e} nats a token from the CPU")

    def losses(name: str) -> str:
        found = []
        for precision in ("float32", "bfloat16"):
            generator = getattr(ta.generators, name)(preset=preset, max_epochs=2, precision=precision)
            found.append(generator.fit(train, train[:256]).model.history.epochs[-1].loss)
        apart = abs(found[1] / found[0] - 1)
        return judged(apart < 0.02, f"loss {found[0]:.4f} in float32, {found[1]:.4f} in bfloat16")

    for name in ("Lstm", "Gpt2", "TransformerXl"):
        yield "values", f"log-probabilities of {name}", partial(log_probabilities, name)
    for name in ("Lstm", "Gpt2"):
        yield "values", f"loss of {name} in bfloat16", partial(losses, name)
    yield "values", "LSTM under autocast", partial(lstm_precision, on)


def judged(right: bool, note: str) -> str:
    """Return a note on numbers that are right; raise ValueError of others."""
    if not right:
        raise ValueError(note)
    return note


def lstm_precision(on: str) -> str:
    """Return in what an LSTM layer computes under autocast in bfloat16."""
    torch.manual_seed(0)
    layer = LstmLayer(64, 64).to(on)
    for weight in layer.parameters():
        torch.nn.init.uniform_(weight, -0.3, 0.3)
    vectors, zeros = torch.randn(8, 20, 64, device=on), torch.zeros(8, 64, device=on)
    # float16 ends at 65,504: what is larger is infinite there, and finite in bfloat16
    large = torch.full((1, 1, 64), 1e5, device=on)
    with torch.no_grad(), torch.autocast(torch.device(on).type, torch.bfloat16):
        lower = layer(vectors.bfloat16(), zeros, zeros)[0]
        of_large = layer(large.bfloat16(), zeros[:1], zeros[:1])[0]
    with torch.no_grad():
        exact = layer(vectors, zeros, zeros)[0]
    error = float((lower.float() - exact).abs().max())
    right = lower.dtype == torch.bfloat16 and bool(torch.isfinite(of_large).all()) and error < 0.03
    return judged(right, f"{lower.dtype}, at most {error:.4f} from float32, 1e5 is {'finite' if right else 'lost'}")


def all_models() -> Rows:
    """Yield each kind: one epoch of one batch in bfloat16, then samples."""
    train = texts(64, 40, 8, 1)
    short = [" ".join(text.split()[:4]) for text in texts(400, 40, 12, 2)]
    same = [text for text in short if len(text.split()) == 4]
    contexts, asked = {"kind": ["good", "bad"] * (len(train) // 2)}, {"kind": ["good"] * 8}
    gens = ta.generators
    one: dict[str, Any] = {"preset": "tiny", "max_epochs": 1, "precision": "bfloat16"}
    rounds: dict[str, Any] = {"rounds": 1, "negatives": 20, "roll_outs": 1}
    policy: dict[str, Any] = {**one, **rounds, "length": 4, "pretraining_rounds": 1}
    runs: dict[str, Callable[[], list[str]]] = {
        "Lstm": lambda: gens.Lstm(**one).fit(train).sample(8),
        "ScheduledSampling": lambda: gens.ScheduledSampling(**one).fit(train).sample(8),
        "Gpt2": lambda: gens.Gpt2(**one).fit(train).sample(8),
        "TransformerXl": lambda: gens.TransformerXl(**one, window=8).fit(train).sample(8),
        "C2s": lambda: gens.C2s(**one).fit(train, contexts=contexts).sample(8, contexts=asked),
        "GatedC2s": lambda: gens.GatedC2s(**one).fit(train, contexts=contexts).sample(8, contexts=asked),
        "Att2Seq": lambda: gens.Att2Seq(**one).fit(train, contexts=contexts).sample(8, contexts=asked),
        "Translation": lambda: gens.Translation(byte_pairs=300, **one).fit(train, turned(train)).sample(train[:8]),
        "SeqGan, rounds in float32": lambda: gens.SeqGan(**policy).fit(same).sample(8),
        "RankGan, rounds in float32": lambda: gens.RankGan(**policy).fit(same).sample(8),
        "LeakGan, float32": lambda: gens.LeakGan(preset="tiny", length=4, cycles=1, **rounds).fit(same).sample(8),
        "CoT, float32": lambda: gens.CoT(preset="tiny", iterations=2).fit(train).sample(8),
        "ScratchGan, float32": lambda: gens.ScratchGan(preset="tiny", iterations=2).fit(train).sample(8),
        "Wgan, float32": lambda: gens.Wgan(preset="tiny", length=4, iterations=1).fit(short).sample(8),
    }
    for name, draw in runs.items():
        yield "one step", name, partial(counted, draw)


def paper_sizes(small: bool, n_batches: int, n_words: int) -> Rows:
    """Yield seconds a batch and memory of training at the size of the papers, and the rates of sampling."""
    preset = "tiny" if small else "paper"
    length, batch = (8, 4) if small else (50, 64)
    train = texts(batch * n_batches, n_words, length, 3)
    one: dict[str, Any] = {"preset": preset, "max_epochs": 1, "precision": "bfloat16"}
    for name, limits in (("Gpt2", {"batch_size": batch}), ("Lstm", {"batch_size": batch}), ("TransformerXl", {})):
        more = {**one, **limits, **({"window": length} if name == "TransformerXl" else {})}
        make = partial(getattr(ta.generators, name), **more)
        kept: list[ta.generators.TextGenerator] = []
        yield "paper size", name, partial(trained, make, train, kept, 1 if small else 2)
        if name != "TransformerXl" and kept:
            yield RATES, name, partial(sampling_rate, kept[0], 20 if small else 2000)
            if not small:
                yield "torch.compile", name, partial(compiled, kept[0])

    def translation() -> str:
        model = ta.generators.Translation(byte_pairs=300 if small else 4000, **one)
        model.fit(train, turned(train), train[:8], turned(train[:8]))
        return f"{ta.parameter_counts(model).trainable / 1e6:.2f} M weights"

    yield "paper size", "Translation", translation


def turned(sources: list[str]) -> list[str]:
    """Return translations: the same words, the last first."""
    return [" ".join(text.split()[::-1]) for text in sources]


def trained(make: Callable[[], Any], train: list[str], kept: list[Any], times: int) -> str:
    """Train one epoch, `times` times; leave the last model in `kept`, and say how long it took."""
    for _ in range(times):
        kept.clear()
        began = time.perf_counter()
        kept.append(make().fit(train, train[:8]))
        seconds = time.perf_counter() - began
    weights = ta.parameter_counts(kept[0]).trainable
    return f"{weights / 1e6:.2f} M weights, {len(train):,} texts in {seconds:.2f} s"


def sampling_rate(generator: ta.generators.TextGenerator, n: int) -> str:
    """Return the rate of the second of two draws, in tokens a second, ends counted."""
    for seed in range(2):
        began = time.perf_counter()
        drawn = generator.sample(n, seed=seed)
        seconds = time.perf_counter() - began
    n_tokens = sum(len(text.split()) + 1 for text in drawn)
    return f"{n_tokens / seconds:,.0f} tokens/s ({n:,} texts)"


def compiled(generator: ta.generators.TextGenerator) -> str:
    """Return the seconds of a step, forward and back, in bfloat16, plain and by `torch.compile`."""
    module = generator.model.module
    module.requires_grad_(True)
    tokens = torch.randint(4, len(generator.form.vocabulary), (64, 40), device=module.device)

    def step(forward: Callable[[torch.Tensor], torch.Tensor]) -> None:
        with torch.autocast(module.device.type, torch.bfloat16):
            vectors = forward(tokens)
            loss = module.loss(vectors.flatten(0, 1), tokens.flatten())
        loss.backward()

    seconds = []
    for forward in (module, torch.compile(module)):
        for _ in range(3):  # compiles, and finds its kernels
            step(forward)
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(10):
            step(forward)
        torch.cuda.synchronize()
        seconds.append((time.perf_counter() - began) / 10)
    module.requires_grad_(False)
    return f"{1000 * seconds[0]:.1f} ms a step, compiled {1000 * seconds[1]:.1f} ms"


def cnn(small: bool, n_words: int) -> Rows:
    """Yield the paper's discriminator."""
    n = 200 if small else 300_000

    def fitted() -> str:
        real, generated = texts(n, n_words, 20, 4), texts(n, n_words, 20, 5, skew=1.1)
        judge = ta.discriminators.Cnn() if small else ta.discriminators.CnnPaper()
        judge.fit([*real, *generated], [True] * n + [False] * n)
        tested = texts(200, n_words, 20, 6), texts(200, n_words, 20, 7, skew=1.1)
        right = (np.mean(judge.predict(tested[0])) + 1 - np.mean(judge.predict(tested[1]))) / 2
        return f"{right:.2f} of new texts told apart"

    yield "discriminator", f"CNN, {n:,} + {n:,} texts", fitted


def line(row: Row) -> str:
    """Return a row as a line of Markdown."""
    peak = "" if np.isnan(row.peak_bytes) else f"{row.peak_bytes / 2**30:.2f}"
    return f"| {row.part} | {row.what} | {row.seconds:.1f} | {peak} | {row.note} |"


def main(arguments: list[str] | None = None) -> int:
    """Print the table, each row when it ends; return 0, 1 where a row failed, or 2 without a GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="tiny sizes, to see that all still runs")
    parser.add_argument("--only", action="append", default=[], help="a part, or a pattern of 'part: what'; repeatable")
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--words", type=int, default=5686)
    asked = parser.parse_args(arguments)
    if asked.device.startswith("cuda") and not torch.cuda.is_available():
        print("no GPU here: --device cpu --small tries the script without one", file=sys.stderr)
        return 2
    n_words = 50 if asked.small else asked.words
    n_batches = 8 if asked.small else asked.batches
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else asked.device
    print(f"{name}, PyTorch {torch.__version__}, textassay {ta.__version__}\n", flush=True)
    print("| part | what | seconds | peak GiB | |\n|---|---|---:|---:|---|", flush=True)
    failed = 0
    with device(asked.device):
        for part, what, run in chain(
            values(asked.small, asked.device),
            all_models(),
            paper_sizes(asked.small, n_batches, n_words),
            cnn(asked.small, n_words),
        ):
            if asked.only and not any(part == one or fnmatchcase(f"{part}: {what}", one) for one in asked.only):
                continue
            row = measured(part, what, run)
            failed += row.note.startswith("FAILED")
            print(line(row), flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
