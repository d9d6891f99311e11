"""The study of GANs as language models as a graph of stages: its text, what is trained, and which costs are measured.

Sources: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, algorithm 1, sections 4
(text8; windows that follow one another and begin without context, of their authors' code) and 5; Yu et al., "SeqGAN:
Sequence Generative Adversarial Nets with Policy Gradient", AAAI 2017; Guo et al., "Long Text Generation via Adversarial
Training with Leaked Information", AAAI 2018; Press et al., "Language Generation with Recurrent Generative Adversarial
Networks without Pre-training", 2017.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SPECIAL_TOKENS, Vocabulary
from textassay.corpus.limits import running_text
from textassay.corpus.text_form import TextForm
from textassay.errors import InputError, TooFewSentencesError
from textassay_lab.adversarial.leakgan import LeakGan
from textassay_lab.adversarial.seqgan import SeqGan
from textassay_lab.adversarial.wgan import Wgan
from textassay_lab.approximation.reference_windows import N_STRETCHES, ReferenceWindows, reference_windows
from textassay_lab.approximation.steppable import (
    as_window_stepper,
    emits_distributions,
    has_softmax,
    reference_log_probs,
)
from textassay_lab.approximation.stopping_rule import RuleCurve, rule_curve
from textassay_lab.approximation.token_counts import (
    Mode,
    RowCosts,
    expected_bias_bits,
    multinomial_costs,
    one_hot_costs,
    sizes_below,
    soft_costs,
)
from textassay_lab.generator.catalog import class_of
from textassay_lab.generator.running_text import cut_windows, read_running_text, split_characters, symbols
from textassay_lab.generator.saved import load_generator
from textassay_lab.generator.uniform import UniformGenerator
from textassay_lab.papers.paper import Network, Scale, read_paper
from textassay_lab.papers.stages import Stage, Work, leaves
from textassay_lab.papers.training import MODEL, Part, adversarial_stage, numbered, of_contest, seed_for, training

GAN_PAPER = read_paper("textassay_lab.papers.gan_as_lm")
EXACT, APPROXIMATE = GAN_PAPER.tables["table 1"].columns
MLE = "SeqGAN, pre-trained LM only"
SEQGAN = "SeqGAN, full adversarial training"
WGAN = "recurrent GAN without pre-training"
UNIFORM = "uniform distribution"
LEAKGAN = "LeakGAN"  # which the paper trained, and gives no numbers of
LSTM = "LSTM"  # a language model of ours, which the paper has from the literature
WGAN_SOFT = f"{WGAN}, soft"  # the mean of its distributions instead of its draws
WGAN_WINDOW = 7  # characters of the window that the paper reads the recurrent GAN in; ours is chosen
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


def read_gan_text(source: Path, scale: Scale) -> GanText:
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

_SHORT: Mapping[str, str] = {
    MLE: "SeqGAN, before",
    SEQGAN: "SeqGAN",
    WGAN: "recurrent GAN",
    WGAN_SOFT: "recurrent GAN, soft",
}


def short(model: str) -> str:
    """Return a short name of a model."""
    return _SHORT.get(model, model)


@dataclass(frozen=True)
class TextCost:
    """Cost of a text, or a part of it, under one generator; sums over S stretches of the text."""

    window: int  # Characters of a window; each begins without context
    # Draws, and what a character that was never drawn has instead of probability 0
    n_samples: int
    floor: float
    unknown_share: float  # Of scored characters that the generator does not know
    sizes: Sequence[int]  # Scored characters of each stretch, S numbers
    # Bits of each stretch, S numbers each: ``plain`` and ``corrected``; of a softmax also ``exact`` and ``expected``
    # (what ``plain`` is above it on average over all draws). ``zeros``: characters that were never drawn.
    sums: Mapping[str, Sequence[float]]

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

    def _added(self, names: Sequence[str]) -> FloatArray:
        total = np.zeros(len(self.sizes))
        for name in names:
            total += (-1 if name.startswith("-") else 1) * np.array(self.sums[name.removeprefix("-")])
        return total


@dataclass(frozen=True)
class GanResults:
    """All measurements; a run is a training from its own seed."""

    # `LSTM`, `MLE`, `SEQGAN`, `LEAKGAN`, `WGAN`, `WGAN_SOFT` and `UNIFORM` to runs, at the window of each; run k of
    # `SEQGAN` goes on from run k of `MLE`
    costs: Mapping[str, tuple[TextCost, ...]]
    lengths: Mapping[str, Mapping[int, tuple[TextCost, ...]]]  # all but `UNIFORM` to window to runs, over one text
    # `SEQGAN` and `LEAKGAN` to, of each run, round of the adversarial training, 0 before it, to cost; a run that ended
    # early has no later rounds
    along: Mapping[str, tuple[Mapping[int, TextCost], ...]]
    convergence: Mapping[str, Mapping[int, TextCost]]  # model with a softmax to N to cost, of its first run
    # `LSTM`, `SEQGAN`, `LEAKGAN`, `WGAN` and `WGAN_SOFT` to the curves of several parts of the text, of the first run
    rules: Mapping[str, tuple[RuleCurve, ...]]
    n_types: int  # characters there are
    # `WGAN` and `WGAN_SOFT` as in `lengths`, on validation text: the window of least cost is theirs in `costs`, `rules`
    on_validation: Mapping[str, Mapping[int, tuple[TextCost, ...]]] = field(default_factory=dict)
    stopped: Mapping[str, str] = field(default_factory=dict)  # run of an adversarial training to why it ended early


LAST = "last"  # folder of the final model, inside that of its stage


@dataclass(frozen=True)
class TrainedGenerator:
    """A generator in a folder of the stage that trained it, or the uniform generator."""

    stage: Stage | None  # None for the uniform generator
    folder: str = MODEL  # inside the stage's folder

    @property
    def inputs(self) -> tuple[Stage, ...]:
        """The stages it depends on."""
        return () if self.stage is None else (self.stage,)

    def open(self, work: Work, vocabulary: Vocabulary) -> Any:
        """Return the generator; None where training ended before the round after which it would have been kept."""
        if self.stage is None:
            return UniformGenerator(vocabulary)
        done = work.inputs[self.stage]
        if self.folder.isdigit() and int(self.folder) > done.result["kept"]:
            return None
        return load_generator(done.folder / self.folder).model


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
            n_samples=size,
            floor=floor,
            unknown_share=text.unknown_share,
            sizes=np.bincount(members, weights=text.sizes).astype(int).tolist(),
            sums={name: np.bincount(members, weights=rows).tolist() for name, rows in own.items()},
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


def choice_stage(name: str, costs: Mapping[int, Sequence[Stage]]) -> Stage:
    """Return the stage that chooses the window of least cost on average over runs, the shortest of equals.

    `costs` is window to stages of costs with one N, on text that nothing is reported on.
    """

    def run(work: Work) -> dict[str, Any]:
        def bits(stage: Stage) -> float:
            (cost,) = work.inputs[stage].result.values()
            return TextCost(**cost).mean("corrected")

        means = {window: float(np.mean([bits(stage) for stage in runs])) for window, runs in sorted(costs.items())}
        return {"window": min(means, key=means.__getitem__)}

    inputs = tuple(stage for runs in costs.values() for stage in runs)
    return Stage("choice", name, {"windows": sorted(costs), "by": "corrected"}, run, inputs)


def _length(work: Work, window: int | Stage) -> int:
    return int(work.inputs[window].result["window"]) if isinstance(window, Stage) else window


def _by_row(values: FloatArray, text: ReferenceWindows) -> FloatArray:
    """Return sums over each row, shape (B,), of values of all scored tokens, shape (n_tokens,)."""
    return np.asarray(values.reshape(len(text.rows), -1).sum(axis=1))


_LEAST = 20  # draws of the smallest mean
_MODES: Mapping[str, Mode] = {WGAN: "onehot", WGAN_SOFT: "soft", UNIFORM: "onehot"}


@dataclass
class GanExperiment:
    """All stages of the study, named as in `GanResults`; nothing is computed yet. A stage of costs has them by N."""

    text: GanText
    scale: Scale
    seed: int
    costs: dict[str, tuple[Stage, ...]] = field(default_factory=dict)
    lengths: dict[str, dict[int, tuple[Stage, ...]]] = field(default_factory=dict)
    along: dict[str, tuple[dict[int, Stage], ...]] = field(default_factory=dict)
    convergence: dict[str, Stage] = field(default_factory=dict)
    rules: dict[str, Stage] = field(default_factory=dict)
    trained: dict[str, Stage] = field(default_factory=dict)  # title of each training against a discriminator to it
    on_validation: dict[str, dict[int, tuple[Stage, ...]]] = field(default_factory=dict)
    choices: dict[str, Stage] = field(default_factory=dict)  # model to what chooses its window by `on_validation`

    def __post_init__(self) -> None:
        text, scale, generators = self.text, self.scale, self.generators()
        valid, noise, windows = (
            evenly_spread(part, n, max(scale.windows))
            for part, n in ((text.valid, scale.n_windows), (text.test, scale.n_noise), (text.test, scale.n_windows))
        )
        for model in (WGAN, WGAN_SOFT):
            self.on_validation[model] = self.by_window("validation", model, generators[model], valid)
            self.choices[model] = choice_stage(model, self.on_validation[model])
        for model, trained in generators.items():
            corpus, window = noise if model in _MODES else text.test, self.window_of(model)
            self.costs[model] = tuple(
                self.cost("cost", model, one, corpus, window, run=run) for run, one in enumerate(trained)
            )
            if model != UNIFORM:
                self.lengths[model] = self.by_window("length", model, trained, windows)
        sizes = [size for size in sizes_below(scale.most_samples, _LEAST) if size >= _LEAST]
        for model in (LSTM, MLE, SEQGAN, LEAKGAN):
            first = generators[model][0]
            self.convergence[model] = self.cost("convergence", model, first, text.test, scale.window, sizes)
        for model in (LSTM, SEQGAN, LEAKGAN, WGAN, WGAN_SOFT):
            self.rules[model] = self.rule(model, generators[model][0])

    @property
    def targets(self) -> list[Stage]:
        """The stages that a report needs."""
        trees = (self.costs, self.lengths, self.along, self.convergence, self.rules, self.trained)
        return list(leaves(trees))

    def generators(self) -> dict[str, tuple[TrainedGenerator, ...]]:
        """Return the trained generators of each seed, by model."""
        scale = self.scale
        _, seqgan = of_contest(scale.seqgan, SeqGan.presets)
        leakgan_network, leakgan = of_contest(scale.leakgan, LeakGan.presets)
        wgan_network, wgan = of_contest(scale.wgan, Wgan.presets)
        windows = cut_windows(self.text.train, scale.length)
        before = [
            self.likely(numbered(MLE, run), scale.generator, scale.length, seed_for(self.seed, MLE, run))
            for run in range(scale.runs)
        ]
        rounds = [self.adversarial("rounds", SEQGAN, run, stage, seqgan, windows) for run, stage in enumerate(before)]
        leaks = [
            self.adversarial("leakgan", LEAKGAN, run, leakgan_network, leakgan, windows)
            for run in range(scale.leakgan_runs)
        ]
        gans = [
            self.adversarial("wgan", WGAN, run, wgan_network, wgan, self.text.train) for run in range(scale.wgan_runs)
        ]
        lstm = self.likely(LSTM, scale.lstm, scale.lstm_length, seed_for(self.seed, LSTM))
        return {
            LSTM: (TrainedGenerator(lstm),),
            MLE: tuple(map(TrainedGenerator, before)),
            SEQGAN: tuple(TrainedGenerator(stage, LAST) for stage in rounds),
            LEAKGAN: tuple(TrainedGenerator(stage, LAST) for stage in leaks),
            WGAN: tuple(map(TrainedGenerator, gans)),
            WGAN_SOFT: tuple(map(TrainedGenerator, gans)),
            UNIFORM: (TrainedGenerator(None, "uniform"),),
        }

    def likely(self, name: str, network: Network, length: int, seed: int) -> Stage:
        """Return a language model that learns from windows of one length."""
        train, valid = (cut_windows(part, length) for part in (self.text.train, self.text.valid))
        network = Network(network.preset, {**network.changes, "length": length})
        return training(
            name, "lstm", network, Part(train), Part(valid), self.text.form, longest=length, seed=seed,
        )  # fmt: skip

    def adversarial(
        self, kind: str, model: str, run: int, start: Mapping[str, Any] | Stage, recipe: Any, text: Corpus
    ) -> Stage:
        """Return a training against a discriminator, kept and measured along its rounds, but the recurrent GAN."""
        scale, seed = self.scale, seed_for(self.seed, model, run)
        length = recipe.length if model == WGAN else scale.length
        kept = checkpoints_of(recipe.rounds, scale.n_checkpoints) if model != WGAN else ()
        settings: dict[str, Any] = {"text": text.fingerprint, **({"kept": list(kept)} if kept else {})}
        if not isinstance(start, Stage):
            system: Any = class_of(kind)
            settings["model"] = system.untrained(start, recipe, length=length, seed=seed).settings
        stage = adversarial_stage(
            kind,
            numbered(short(model), run),
            "seqgan" if model == SEQGAN else kind,
            start,
            recipe,
            Part(text),
            self.text.form,
            settings=settings,
            inputs=(start,) if isinstance(start, Stage) else (),
            seed=seed,
            length=length,
            folder=LAST if kept else MODEL,
            keep_every=[*kept, 1][1] if kept else None,
        )
        self.trained[stage.name] = stage
        if kept:
            along = {
                number: self.cost(
                    "along",
                    f"{stage.name} after {number}",
                    TrainedGenerator(stage, str(number)),
                    self.text.test,
                    scale.window,
                )
                for number in kept
            }
            self.along[model] = (*self.along.get(model, ()), along)
        return stage

    def window_of(self, model: str) -> int | Stage:
        """Return the window in which a model is measured, or the stage that chooses it."""
        return self.choices.get(model, WGAN_WINDOW if model in _MODES else self.scale.window)

    def by_window(
        self, kind: str, model: str, trained: tuple[TrainedGenerator, ...], part: Corpus
    ) -> dict[int, tuple[Stage, ...]]:
        """Return window to the costs of a text in it, by run."""
        n_samples = self.scale.n_window_samples if model in _MODES else self.scale.n_samples
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
        """Return the stage of the cost of a text under one generator; its result is null where there is none."""
        model = name.partition(" window ")[0]
        mode = _MODES.get(model, "multinomial")
        longest = max(self.scale.windows if isinstance(window, Stage) else (window, *self.scale.windows))
        sizes = sizes or [self.scale.n_samples]
        options: dict[str, Any] = {
            "sizes": sizes,
            "floor": self.scale.floor,
            "n_stretches": min(N_STRETCHES, len(corpus.tokens) // longest),
            "seed": seed_for(self.seed, kind, name, run),
        }

        def measure(work: Work) -> dict[str, Any] | None:
            def tell(label: str, done: int, total: int) -> None:
                work.tell(f"{label}, part {done} of {total}")

            generator = trained.open(work, self.text.form.vocabulary)
            if generator is None:
                return None
            length = _length(work, window)
            costs = text_costs(generator, corpus, window=length, mode=mode, **options, progress=tell)
            return {str(size): asdict(one) for size, one in costs.items()}

        return self._measuring(kind, numbered(name, run), trained, corpus, window, mode, options, measure)

    def rule(self, model: str, trained: TrainedGenerator) -> Stage:
        """Return the stage of the stopping rule in parts of the test text; see `rule_curves`."""
        scale, mode, window = self.scale, _MODES.get(model, "multinomial"), self.window_of(model)
        options: dict[str, Any] = {
            "n_samples": scale.rule_samples,
            "n_rows": scale.rule_rows,
            "n_parts": scale.rule_parts,
            "seed": seed_for(self.seed, "rule", model),
        }

        def measure(work: Work) -> list[dict[str, Any]]:
            generator = trained.open(work, self.text.form.vocabulary)
            curves = rule_curves(generator, self.text.test, window=_length(work, window), mode=mode, **options)
            return [curve.to_dict() for curve in curves]

        return self._measuring("rule", model, trained, self.text.test, window, mode, options, measure)

    def _measuring(
        self, kind: str, name: str, trained: TrainedGenerator, corpus: Corpus, window: int | Stage, mode: Mode,
        options: Mapping[str, Any], measure: Callable[[Work], Any],
    ) -> Stage:  # fmt: skip
        settings = {"folder": trained.folder, "text": corpus.fingerprint, "window": window, "mode": mode, **options}
        if isinstance(window, Stage):
            return Stage(kind, name, {**settings, "window": "chosen"}, measure, (*trained.inputs, window))
        return Stage(kind, name, settings, measure, trained.inputs)
