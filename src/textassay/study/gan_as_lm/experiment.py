"""The study of GANs as language models as a graph of stages: its text, what is trained, and which costs are measured.

Sources: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, algorithm 1, sections 4
(text8; windows that follow one another and begin without context, of their authors' code) and 5; Yu et al., "SeqGAN:
Sequence Generative Adversarial Nets with Policy Gradient", AAAI 2017; Guo et al., "Long Text Generation via Adversarial
Training with Leaked Information", AAAI 2018; Press et al., "Language Generation with Recurrent Generative Adversarial
Networks without Pre-training", 2017.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.approximation import (
    N_STRETCHES,
    Mode,
    ReferenceWindows,
    RowCosts,
    RuleCurve,
    as_window_stepper,
    emits_distributions,
    expected_bias_bits,
    has_softmax,
    multinomial_costs,
    one_hot_costs,
    reference_log_probs,
    reference_windows,
    rule_curve,
    sizes_below,
    soft_costs,
)
from textassay.corpus import (
    SPECIAL_TOKENS,
    Corpus,
    TextForm,
    Vocabulary,
    cut_windows,
    read_running_text,
    running_text,
    split_characters,
    symbols,
)
from textassay.errors import InputError, TooFewSentencesError
from textassay.generator import UniformGenerator, load_generator
from textassay.generators import class_of
from textassay.study.adversarial_stages import adversarial_stage
from textassay.study.gan_as_lm.published import MLE, SEQGAN, UNIFORM, WGAN, WGAN_WINDOW, GanScale
from textassay.study.network_stages import MODEL, Part, numbered, seed_for, training
from textassay.study.presets import Network
from textassay.study.stages import Stage, Work

FILES = ("train.txt", "valid.txt", "test.txt")


@dataclass(frozen=True)
class GanText:
    """Running text in one form, that of the training text; each part is one sentence."""

    form: TextForm  # A character is a token
    # What generators learn from, what chooses an epoch of those that have epochs, and what is measured on
    train: Corpus
    valid: Corpus
    test: Corpus
    sizes: Mapping[str, int]  # How much there is of what

    @property
    def n_types(self) -> int:
        """Different characters of the training text; 27 in text8."""
        return len(self.form.vocabulary) - len(SPECIAL_TOKENS)


def read_gan_text(source: Path, scale: GanScale) -> GanText:
    """Return the text of the study."""
    if source.is_dir():
        lacking = [name for name in FILES if not (source / name).is_file()]
        if lacking:
            raise InputError(f"{source} lacks {', '.join(lacking)}: --data names a folder of {', '.join(FILES)}")
        parts = [read_running_text(source / name) for name in FILES]
    else:
        parts = split_characters(read_running_text(source))
    most = (scale.n_train, scale.n_valid, scale.n_test)
    parts = [part[:n] for part, n in zip(parts, most, strict=True)]
    longest = max(scale.lstm_length, scale.length)
    for name, part, least in zip(FILES, parts, (longest, longest, max(scale.window, *scale.windows)), strict=True):
        if len(part) < scale.rule_parts * least:
            raise TooFewSentencesError(
                f"{source}: {name.removesuffix('.txt')} has {len(part)} characters, the scale {scale.name} needs at "
                f"least {scale.rule_parts * least}: give more text"
            )
    with running_text():
        form = TextForm.learn([parts[0]], tokenizer="chars")
        train, valid, test = (form.corpus([part]) for part in parts)
    sizes = {f"{name} characters": len(part) for name, part in zip(("train", "valid", "test"), parts, strict=True)}
    return GanText(form, train, valid, test, {**sizes, "symbols": len(symbols(parts[0]))})


def evenly_spread(text: Corpus, n_characters: int, length: int) -> Corpus:
    """Return about `n_characters` of a text, all where it has no more: stretches of `length`, evenly spread."""
    stretches = cut_windows(text, length)
    n = max(1, min(len(stretches), n_characters // length))
    return stretches.take(np.linspace(0, len(stretches) - 1, n).round().astype(np.int64))


FloatArray = npt.NDArray[np.float64]

LEAKGAN = "LeakGAN"  # which the paper trained, and gives no numbers of
LSTM = "LSTM"  # a language model of ours, which the paper has from the literature
WGAN_SOFT = f"{WGAN}, soft"  # the mean of its distributions instead of its draws
SHORT: Mapping[str, str] = {
    MLE: "SeqGAN, before",
    SEQGAN: "SeqGAN",
    WGAN: "recurrent GAN",
    WGAN_SOFT: "recurrent GAN, soft",
}  # what does not stand here is short as it is


@dataclass(frozen=True)
class TextCost:
    """Cost of a text, or a part of it, under one generator; sums over S stretches of the text."""

    window: int  # Characters of a window; each begins without context
    mode: str  # ``multinomial``, ``onehot`` or ``soft``
    # Draws, and what a character that was never drawn has instead of probability 0
    n_samples: int
    floor: float
    # Windows; characters in none; share of scored characters that the generator does not know
    n_windows: int
    n_dropped: int
    unknown_share: float
    sizes: tuple[int, ...]  # Scored characters of each stretch, S numbers
    # Bits of each stretch, S numbers each: ``plain`` and ``corrected``; of a softmax also ``exact`` and ``expected``
    # (what ``plain`` is above it on average over all draws). ``zeros``: characters that were never drawn.
    sums: Mapping[str, tuple[float, ...]]

    @property
    def n_characters(self) -> int:
        """Scored characters."""
        return sum(self.sizes)

    def mean(self, *names: str) -> float:
        """Return the mean over characters of the sum of some of `sums`; a minus before a name subtracts it."""
        return float(self._added(names).sum() / self.n_characters)

    def terms(self, *names: str) -> FloatArray:
        """Return S terms whose mean is `mean` and whose variance, over S, is that of it (ratio estimate)."""
        sizes, value = np.array(self.sizes, dtype=np.float64), self.mean(*names)
        return np.asarray(value + (self._added(names) - value * sizes) / sizes.mean())

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON-ready values."""
        return {
            **{name: value for name, value in vars(self).items() if name not in ("sizes", "sums")},
            "sizes": list(self.sizes),
            "sums": {name: list(values) for name, values in self.sums.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TextCost":
        """Return the cost that `to_dict` gave as `data`."""
        sums = {name: tuple(values) for name, values in data["sums"].items()}
        return cls(**{**data, "sizes": tuple(data["sizes"]), "sums": sums})

    def _added(self, names: Sequence[str]) -> FloatArray:
        total = np.zeros(len(self.sizes))
        for name in names:
            total += (-1 if name.startswith("-") else 1) * np.array(self.sums[name.removeprefix("-")])
        return total


@dataclass(frozen=True)
class GanResults:
    """All measurements; a run is a training from its own seed."""

    # T1 and T2: `LSTM`, `MLE`, `SEQGAN`, `LEAKGAN`, `WGAN`, `WGAN_SOFT` and `UNIFORM` to runs, at the window of each.
    # Run k of `SEQGAN` goes on from run k of `MLE`.
    costs: Mapping[str, tuple[TextCost, ...]]
    # T5: all but the last of these to window to runs, all over the same text
    lengths: Mapping[str, Mapping[int, tuple[TextCost, ...]]]
    # T4: `SEQGAN` and `LEAKGAN` to, of each run, round of the adversarial training, 0 before it, to cost; a run that
    # ended early has no later rounds
    along: Mapping[str, tuple[Mapping[int, TextCost], ...]]
    convergence: Mapping[str, Mapping[int, TextCost]]  # Model with a softmax to N to cost, of its first run
    # T3: `LSTM`, `SEQGAN`, `LEAKGAN`, `WGAN` and `WGAN_SOFT` to the curves of several parts of the text, of the first
    # run
    rules: Mapping[str, tuple[RuleCurve, ...]]
    n_types: int  # Characters there are
    # `WGAN` and `WGAN_SOFT` as in `lengths`, on validation text: the window of least cost is theirs in `costs`, `rules`
    on_validation: Mapping[str, Mapping[int, tuple[TextCost, ...]]] = field(default_factory=dict)
    # Run of a training against a discriminator to why it ended early
    stopped: Mapping[str, str] = field(default_factory=dict)
    # How much there is of what; kind of stage to how long its stages took; all that decides the numbers, JSON-ready
    sizes: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # What a reader must know, sentences; warnings of stages among them


def curve_from_dict(data: Mapping[str, Any]) -> RuleCurve:
    """Return the curve whose `RuleCurve.to_dict` is `data`."""
    known = {name: value for name, value in data.items() if name not in ("slope", "error_slope", "spread")}
    lists = {name: tuple(known[name]) for name in ("sizes", "differences")}
    errors = None if known["errors"] is None else tuple(known["errors"])
    return RuleCurve(**{**known, **lists, "errors": errors})


LAST = "last"  # folder of the final model, inside that of its stage


@dataclass(frozen=True)
class TrainedGenerator:
    """A generator in a folder of the stage that trained it, or the uniform generator."""

    stage: Stage | None  # None for the uniform generator
    folder: str = MODEL  # inside the stage's folder
    vocabulary: Vocabulary | None = None  # of the uniform generator

    @property
    def inputs(self) -> tuple[Stage, ...]:
        """The stages it depends on."""
        return () if self.stage is None else (self.stage,)

    def exists(self, work: Work) -> bool:
        """Return whether it counts: models of rounds after an early end of training do not."""
        return self.stage is None or not self.folder.isdigit() or int(self.folder) <= self._result(work)["kept"]

    def open(self, work: Work) -> object:
        """Return the generator."""
        if self.stage is None:
            assert self.vocabulary is not None
            return UniformGenerator(self.vocabulary)
        return load_generator(work.inputs[self.stage].folder / self.folder).model

    def _result(self, work: Work) -> dict[str, Any]:
        assert self.stage is not None
        result: dict[str, Any] = work.inputs[self.stage].result
        return result


def checkpoints_of(rounds: int, n: int) -> tuple[int, ...]:
    """Return after which rounds, 0 and the last among them, a model is kept: about `n` besides 0, evenly."""
    every = max(1, rounds // max(n, 1))
    return tuple(sorted({*range(0, rounds + 1, every), rounds}))


Progress = Callable[[str, int, int], None]


def text_costs(
    generator: Any,
    corpus: Corpus,
    *,
    window: int,
    mode: Mode,
    sizes: Sequence[int],
    floor: float,
    n_stretches: int = N_STRETCHES,
    seed: int,
    progress: Progress | None = None,
) -> dict[int, TextCost]:
    """Return the cost of a text from N samples, by N, nested: the first of the largest N.

    `generator`: with a softmax for ``multinomial``; driven by noise for ``soft``; that steps for ``onehot``.
    """
    text = reference_windows(corpus, window=window)
    sums: dict[str, FloatArray] = {}
    log_probs = np.zeros(0)
    counts: RowCosts
    if mode == "multinomial":
        assert has_softmax(generator)
        log_probs = reference_log_probs(generator, text.rows, ends=text.ends).reshape(-1)
        sums["exact"] = _by_row(-log_probs / math.log(2), text)
        counts = multinomial_costs(text, log_probs, sizes, floor=floor, seed=seed)
    elif mode == "soft":
        assert emits_distributions(generator)
        counts = soft_costs(generator, text, sizes, floor=floor, seed=seed, progress=progress)
    else:
        stepper = as_window_stepper(generator)
        counts = one_hot_costs(stepper, text, sizes, floor=floor, seed=seed, progress=progress)
    n_stretches = min(n_stretches, len(text.rows))
    members = ((np.arange(len(text.rows)) + 0.5) * n_stretches / len(text.rows)).astype(np.int64)
    costs = {}
    for place, size in enumerate(sizes):
        own = sums | {name: counts[name][place] for name in ("plain", "corrected", "zeros")}
        if len(log_probs):
            own["expected"] = _by_row(expected_bias_bits(log_probs, size, floor=floor), text)
        costs[size] = TextCost(
            window=window,
            mode=mode,
            n_samples=size,
            floor=floor,
            n_windows=len(text.rows),
            n_dropped=text.n_dropped,
            unknown_share=text.unknown_share,
            sizes=tuple(np.bincount(members, weights=text.sizes).astype(int).tolist()),
            sums={name: tuple(np.bincount(members, weights=rows).tolist()) for name, rows in own.items()},
        )
    return costs


def rule_curves(
    generator: Any, corpus: Corpus, *, window: int, mode: Mode, n_samples: int, n_rows: int, n_parts: int, seed: int
) -> list[RuleCurve]:
    """Return the curve of the stopping rule in each of `n_parts` parts of a text; see `rule_curve`.

    Parts have equally many consecutive windows, of which `n_rows` are taken.
    """
    text = reference_windows(corpus, window=window)
    stepper = generator if mode == "multinomial" else as_window_stepper(generator)
    curves = []
    for part, rows in enumerate(np.array_split(np.arange(len(text.rows)), n_parts)):
        own = ReferenceWindows(text.rows[rows], text.sizes[rows], 0, window, 0, text.characters_per_token, text.corpus)
        curves.append(rule_curve(stepper, own, n_samples, mode=mode, n_rows=n_rows, seed=seed + part))
    return curves


def cost_stage(
    kind: str, name: str, trained: TrainedGenerator, corpus: Corpus, *, window: int | Stage, mode: Mode,
    sizes: Sequence[int], floor: float, n_stretches: int, seed: int, cost: float,
) -> Stage:  # fmt: skip
    """Return the stage of `text_costs`; its result is by N, null where there is no generator.

    `window` is a number of characters, or the stage that chooses it.
    """

    def run(work: Work) -> dict[str, Any] | None:
        if not trained.exists(work):
            return None

        def tell(label: str, done: int, total: int) -> None:
            work.tell(f"{label}, part {done} of {total}")

        costs = text_costs(
            trained.open(work),
            corpus,
            window=_length(work, window),
            mode=mode,
            sizes=sizes,
            floor=floor,
            n_stretches=n_stretches,
            seed=seed,
            progress=tell,
        )
        return {str(size): one.to_dict() for size, one in costs.items()}

    settings, inputs = _asked(trained, corpus, window, mode)
    settings |= {"sizes": list(sizes), "floor": floor, "n_stretches": n_stretches, "seed": seed}
    return Stage(kind, name, settings, run, inputs, cost)


def choice_stage(name: str, costs: Mapping[int, Sequence[Stage]]) -> Stage:
    """Return the stage that chooses the window of least cost on average over runs, the shortest of equals.

    `costs` is window to stages of `cost_stage` with one N, on text that nothing is reported on.
    """

    def run(work: Work) -> dict[str, Any]:
        def bits(stage: Stage) -> float:
            (cost,) = work.inputs[stage].result.values()
            return TextCost.from_dict(cost).mean("corrected")

        means = {window: float(np.mean([bits(stage) for stage in runs])) for window, runs in sorted(costs.items())}
        return {"window": min(means, key=means.__getitem__)}

    inputs = tuple(stage for runs in costs.values() for stage in runs)
    return Stage("choice", name, {"windows": sorted(costs), "by": "corrected"}, run, inputs)


def rule_stage(
    name: str, trained: TrainedGenerator, corpus: Corpus, *, window: int | Stage, mode: Mode, n_samples: int,
    n_rows: int, n_parts: int, seed: int, cost: float,
) -> Stage:  # fmt: skip
    """Return the stage of the stopping rule in parts of a text; see `rule_curves`."""
    settings, inputs = _asked(trained, corpus, window, mode)
    options: dict[str, int] = {"n_samples": n_samples, "n_rows": n_rows, "n_parts": n_parts, "seed": seed}

    def run(work: Work) -> list[dict[str, Any]]:
        curves = rule_curves(trained.open(work), corpus, window=_length(work, window), mode=mode, **options)
        return [curve.to_dict() for curve in curves]

    return Stage("rule", name, {**settings, **options}, run, inputs, cost)


def _asked(
    trained: TrainedGenerator, corpus: Corpus, window: int | Stage, mode: Mode
) -> tuple[dict[str, Any], tuple[Stage, ...]]:
    """Return the settings and inputs of a measurement."""
    settings = {"folder": trained.folder, "text": corpus.fingerprint, "window": window, "mode": mode}
    if isinstance(window, Stage):
        return {**settings, "window": "chosen"}, (*trained.inputs, window)
    return settings, trained.inputs


def _length(work: Work, window: int | Stage) -> int:
    return int(work.inputs[window].result["window"]) if isinstance(window, Stage) else window


def _by_row(values: FloatArray, text: ReferenceWindows) -> FloatArray:
    """Return sums over each row, shape (B,), of values of all scored tokens, shape (n_tokens,)."""
    return np.asarray(values.reshape(len(text.rows), -1).sum(axis=1))


_LEAST = 20  # draws of the smallest mean
_MODES: Mapping[str, Mode] = {WGAN: "onehot", WGAN_SOFT: "soft", UNIFORM: "onehot"}


@dataclass
class GanExperiment:
    """All stages of the study; names as in `GanResults`. The result of a stage of costs is by N."""

    # Model to stages; convergence of the first run
    costs: dict[str, tuple[Stage, ...]] = field(default_factory=dict)
    lengths: dict[str, dict[int, tuple[Stage, ...]]] = field(default_factory=dict)  # Model to window to runs
    # `WGAN` and `WGAN_SOFT` to window to runs on validation text; to the stage that chooses the window by them
    on_validation: dict[str, dict[int, tuple[Stage, ...]]] = field(default_factory=dict)
    choices: dict[str, Stage] = field(default_factory=dict)
    # Model to, of each run, round to stage
    along: dict[str, tuple[dict[int, Stage], ...]] = field(default_factory=dict)
    convergence: dict[str, Stage] = field(default_factory=dict)
    rules: dict[str, Stage] = field(default_factory=dict)
    # Title of each training against a discriminator to its stage
    trained: dict[str, Stage] = field(default_factory=dict)

    @property
    def targets(self) -> list[Stage]:
        """The stages that a report needs."""
        stages = [stage for runs in self.costs.values() for stage in runs]
        stages += [stage for windows in self.lengths.values() for runs in windows.values() for stage in runs]
        stages += [stage for runs in self.along.values() for rounds in runs for stage in rounds.values()]
        return [*stages, *self.convergence.values(), *self.rules.values(), *self.trained.values()]


def build_gan(text: GanText, scale: GanScale, *, seed: int) -> GanExperiment:
    """Return the stages of the study; nothing is computed yet."""
    experiment = GanExperiment()
    plan = _Plan(text, scale, seed, experiment)
    runs = plan.generators()
    plan.choose_windows(runs)
    plan.table_1(runs)
    plan.study_of_lengths(runs)
    for model in (LSTM, MLE, SEQGAN, LEAKGAN):
        sizes = [size for size in sizes_below(scale.most_samples, _LEAST) if size >= _LEAST]
        experiment.convergence[model] = plan.cost("convergence", model, runs[model][0], text.test, scale.window, sizes)
    for model in (LSTM, SEQGAN, LEAKGAN, WGAN, WGAN_SOFT):
        experiment.rules[model] = plan.rule(model, runs[model][0])
    return experiment


@dataclass(frozen=True)
class _Plan:
    """Settings of the study, and the experiment to which its parts add their stages."""

    text: GanText
    scale: GanScale
    seed: int
    experiment: GanExperiment

    def generators(self) -> dict[str, tuple[TrainedGenerator, ...]]:
        """Return the trained generators of each seed, by model."""
        text, scale = self.text, self.scale
        windows = cut_windows(text.train, scale.length)
        before = [
            self._trained(numbered(MLE, run), scale.generator, scale.length, seed_for(self.seed, MLE, run))
            for run in range(scale.runs)
        ]
        rounds = [
            self._against_discriminator(
                "rounds", "SeqGAN", SEQGAN, run, windows, stage, scale.seqgan,
                cost=float(scale.seqgan.rounds * scale.seqgan.n_negatives),
            )
            for run, stage in enumerate(before)
        ]  # fmt: skip
        leaks = [
            self._against_discriminator(
                "leakgan", LEAKGAN, LEAKGAN, run, windows, scale.leakgan_network, scale.leakgan,
                cost=float(len(windows.tokens)) * scale.leakgan_network["width"] * scale.leakgan.cycles,
            )
            for run in range(scale.leakgan_runs)
        ]  # fmt: skip
        gans = [
            self._against_discriminator(
                "wgan", "recurrent GAN", WGAN, run, text.train, {"width": scale.wgan_width}, scale.wgan,
                cost=float(scale.wgan.curriculum.n_rounds * scale.wgan.iterations * scale.wgan_width * 64),
            )
            for run in range(scale.wgan_runs)
        ]  # fmt: skip
        for model, stages, n in ((SEQGAN, rounds, scale.seqgan.rounds), (LEAKGAN, leaks, scale.leakgan.rounds)):
            self.experiment.along[model] = tuple(
                {
                    number: self.cost(
                        "along",
                        f"{stage.name} after {number}",
                        TrainedGenerator(stage, str(number)),
                        text.test,
                        scale.window,
                    )
                    for number in checkpoints_of(n, scale.n_checkpoints)
                }
                for stage in stages
            )
        lstm = self._trained(LSTM, scale.lstm, scale.lstm_length, seed_for(self.seed, LSTM))
        return {
            LSTM: (TrainedGenerator(lstm),),
            MLE: tuple(map(TrainedGenerator, before)),
            SEQGAN: tuple(TrainedGenerator(stage, LAST) for stage in rounds),
            LEAKGAN: tuple(TrainedGenerator(stage, LAST) for stage in leaks),
            WGAN: tuple(map(TrainedGenerator, gans)),
            WGAN_SOFT: tuple(map(TrainedGenerator, gans)),
            UNIFORM: (TrainedGenerator(None, "uniform", text.form.vocabulary),),
        }

    def choose_windows(self, runs: Mapping[str, tuple[TrainedGenerator, ...]]) -> None:
        """Add the stages that choose the recurrent GAN's windows on validation text."""
        scale = self.scale
        part = evenly_spread(self.text.valid, scale.n_windows, max(scale.windows))
        for model in (WGAN, WGAN_SOFT):
            costs = self._by_window("validation", model, runs[model], part, scale.n_window_samples)
            self.experiment.on_validation[model] = costs
            self.experiment.choices[model] = choice_stage(model, costs)

    def window_of(self, model: str) -> int | Stage:
        """Return the window in which a model is measured, or the stage that chooses it."""
        return self.experiment.choices.get(model, WGAN_WINDOW if model in _MODES else self.scale.window)

    def table_1(self, runs: Mapping[str, tuple[TrainedGenerator, ...]]) -> None:
        """Add the costs of the text under all generators, each in its window."""
        part = evenly_spread(self.text.test, self.scale.n_noise, max(self.scale.windows))
        for model, trained in runs.items():
            corpus = part if model in _MODES else self.text.test
            self.experiment.costs[model] = tuple(
                self.cost("cost", model, one, corpus, self.window_of(model), run=run) for run, one in enumerate(trained)
            )

    def study_of_lengths(self, runs: Mapping[str, tuple[TrainedGenerator, ...]]) -> None:
        """Add the costs of the same text in windows of several lengths."""
        scale = self.scale
        part = evenly_spread(self.text.test, scale.n_windows, max(scale.windows))
        for model, trained in runs.items():
            if model == UNIFORM:
                continue
            n = scale.n_window_samples if model in _MODES else scale.n_samples
            self.experiment.lengths[model] = self._by_window("length", model, trained, part, n)

    def _by_window(
        self, kind: str, model: str, trained: tuple[TrainedGenerator, ...], part: Corpus, n_samples: int
    ) -> dict[int, tuple[Stage, ...]]:
        """Return window to the costs of a text in it, by run."""
        return {
            window: tuple(
                self.cost(kind, f"{model} window {window}", one, part, window, [n_samples], run=run)
                for run, one in enumerate(trained)
            )
            for window in self.scale.windows
        }

    def cost(
        self, kind: str, name: str, trained: TrainedGenerator, corpus: Corpus, window: int | Stage,
        sizes: list[int] | None = None, *, run: int = 0,
    ) -> Stage:  # fmt: skip
        """Return the stage of the cost of a text under one generator."""
        model = name.partition(" window ")[0]
        mode = _MODES.get(model, "multinomial")
        longest = max(self.scale.windows if isinstance(window, Stage) else (window, *self.scale.windows))
        sample_sizes = [self.scale.n_samples] if sizes is None else sizes
        return cost_stage(
            kind,
            numbered(name, run),
            trained,
            corpus,
            window=window,
            mode=mode,
            sizes=sample_sizes,
            floor=self.scale.floor,
            n_stretches=min(N_STRETCHES, len(corpus.tokens) // longest),
            seed=seed_for(self.seed, kind, name, run),
            cost=float(len(corpus.tokens))
            * (sample_sizes[-1] / 5 if model in (WGAN, WGAN_SOFT) else 1 + len(sample_sizes)),
        )

    def rule(self, model: str, trained: TrainedGenerator) -> Stage:
        """Return the stage of the stopping rule for the number of samples."""
        scale, mode = self.scale, _MODES.get(model, "multinomial")
        return rule_stage(
            model,
            trained,
            self.text.test,
            window=self.window_of(model),
            mode=mode,
            n_samples=scale.rule_samples,
            n_rows=scale.rule_rows,
            n_parts=scale.rule_parts,
            seed=seed_for(self.seed, "rule", model),
            cost=float(scale.rule_samples * scale.rule_rows * scale.rule_parts * 10),
        )

    def _trained(self, name: str, network: Network, length: int, seed: int) -> Stage:
        """Return a language model that learns from windows of one length."""
        train, valid = (cut_windows(part, length) for part in (self.text.train, self.text.valid))
        width = float(network.changes.get("width", 256))
        return training(
            name,
            "lstm",
            preset=network.preset,
            changes={**network.changes, "length": length},
            text=Part(train),
            valid=Part(valid),
            form=self.text.form,
            longest=length,
            seed=seed,
            cost=float(len(train.tokens)) * width,
        )

    def _against_discriminator(
        self, kind: str, name: str, model: str, run: int, text: Corpus, start: Mapping[str, Any] | Stage, recipe: Any,
        *, cost: float,
    ) -> Stage:  # fmt: skip
        """Return a training against a discriminator; but the recurrent GAN, it is kept along its rounds, too."""
        scale, seed = self.scale, seed_for(self.seed, model, run)
        length = recipe.length if model == WGAN else scale.length
        settings: dict[str, Any] = {"text": text.fingerprint}
        if not isinstance(start, Stage):
            system: Any = class_of(kind)
            settings["model"] = system.untrained(start, recipe, length=length, seed=seed).settings
        along: dict[str, Any] = {}
        if model != WGAN:
            kept = checkpoints_of(recipe.rounds, scale.n_checkpoints)
            settings["kept"] = list(kept)
            along = {"folder": LAST, "keep_every": kept[1] if len(kept) > 1 else 1}
        stage = adversarial_stage(
            kind,
            numbered(name, run),
            "seqgan" if model == SEQGAN else kind,
            start,
            recipe,
            Part(text),
            self.text.form,
            settings=settings,
            inputs=(start,) if isinstance(start, Stage) else (),
            seed=seed,
            cost=cost,
            length=length,
            **along,
        )
        self.experiment.trained[stage.name] = stage
        return stage
