"""The study of GANs as language models as a graph of stages that train and measure.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, sections 4 and 5.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from textassay.approximation import N_STRETCHES, Mode, sizes_below
from textassay.corpus import Corpus, cut_windows
from textassay.study.gan_as_lm.measures import choice_stage, cost_stage, rule_stage
from textassay.study.gan_as_lm.published import MLE, SEQGAN, UNIFORM, WGAN
from textassay.study.gan_as_lm.results import LEAKGAN, LSTM, WGAN_SOFT
from textassay.study.gan_as_lm.scales import WGAN_WINDOW, GanScale
from textassay.study.gan_as_lm.stages import (
    LAST,
    TrainedGenerator,
    checkpoints_of,
    leakgan_stage,
    seqgan_stage,
    wgan_stage,
)
from textassay.study.gan_as_lm.text import GanText, evenly_spread
from textassay.study.network_stages import Part, seed_for, training
from textassay.study.presets import Network
from textassay.study.stages import Stage

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
            self._trained(_numbered(MLE, run), scale.generator, scale.length, seed_for(self.seed, MLE, run))
            for run in range(scale.runs)
        ]
        rounds = []
        for run, stage in enumerate(before):
            after = seqgan_stage(
                _numbered("SeqGAN", run),
                stage,
                windows,
                text.form,
                recipe=scale.seqgan,
                n_checkpoints=scale.n_checkpoints,
                seed=seed_for(self.seed, SEQGAN, run),
                cost=float(scale.seqgan.rounds * scale.seqgan.n_negatives),
            )
            rounds.append(after)
            self.experiment.trained[after.name] = after
        leaks = []
        for run in range(scale.leakgan_runs):
            stage = leakgan_stage(
                _numbered(LEAKGAN, run),
                windows,
                text.form,
                network=scale.leakgan_network,
                recipe=scale.leakgan,
                n_checkpoints=scale.n_checkpoints,
                seed=seed_for(self.seed, LEAKGAN, run),
                cost=float(len(windows.tokens)) * scale.leakgan_network["width"] * scale.leakgan.cycles,
            )
            leaks.append(stage)
            self.experiment.trained[stage.name] = stage
        gans = []
        for run in range(scale.wgan_runs):
            stage = wgan_stage(
                _numbered("recurrent GAN", run),
                text.train,
                text.form,
                width=scale.wgan_width,
                recipe=scale.wgan,
                seed=seed_for(self.seed, WGAN, run),
                cost=float(scale.wgan.curriculum.n_rounds * scale.wgan.iterations * scale.wgan_width * 64),
            )
            gans.append(stage)
            self.experiment.trained[stage.name] = stage
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
            _numbered(name, run),
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


def _numbered(name: str, run: int) -> str:
    return name if run == 0 else f"{name} again {run}"
