"""The study ``gan-as-lm``: missing stages are computed, and results compared with the paper.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019.
Departs from it: another text and networks as a scale says; SeqGAN several times, each beside its own pre-training.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from textassay.meta_evaluation import Reproduction
from textassay.study.gan_as_lm.experiment import build_gan
from textassay.study.gan_as_lm.figures import gan_reproduction
from textassay.study.gan_as_lm.results import GanResults, TextCost, curve_from_dict
from textassay.study.gan_as_lm.scales import GanScale
from textassay.study.gan_as_lm.text import GanText
from textassay.study.staged_study import StagedStudy
from textassay.study.stages import Stage


class GanStudy(StagedStudy):
    """The study."""

    def __init__(
        self,
        text: GanText,
        scale: GanScale,
        folder: Path,
        *,
        seed: int = 0,
        runs: int | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.text, self.seed = text, seed
        self.scale = scale if runs is None else replace(scale, runs=runs)
        super().__init__(folder, progress)
        self.experiment = build_gan(text, self.scale, seed=seed)

    @property
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""
        return self.experiment.targets

    def result(self) -> Reproduction:
        """Return the results beside the published ones; all stages must be done."""
        return gan_reproduction(self.measured())

    def measured(self) -> GanResults:
        """Return the results of the stages; all must be done."""
        experiment, n = self.experiment, self.scale.n_samples
        trained = {title: self.outcome(stage) for title, stage in experiment.trained.items()}
        return GanResults(
            costs={model: tuple(self._costs(stage)[n] for stage in runs) for model, runs in experiment.costs.items()},
            lengths=self._by_window(experiment.lengths),
            along={
                model: tuple(
                    {number: costs[n] for number, stage in rounds.items() if (costs := self._costs(stage))}
                    for rounds in runs
                )
                for model, runs in experiment.along.items()
            },
            convergence={model: self._costs(stage) for model, stage in experiment.convergence.items()},
            rules={
                model: tuple(curve_from_dict(curve) for curve in self.outcome(stage))
                for model, stage in experiment.rules.items()
            },
            n_types=self.text.n_types,
            on_validation=self._by_window(experiment.on_validation),
            stopped={title: one["stopped"] for title, one in trained.items() if one["stopped"] is not None},
            sizes=self.text.sizes,
            seconds=self.seconds(),
            settings=self._settings(),
            notes=tuple(self.warning_notes()),
        )

    def _by_window(
        self, stages: Mapping[str, Mapping[int, Sequence[Stage]]]
    ) -> dict[str, dict[int, tuple[TextCost, ...]]]:
        """Return model to window to the costs of its runs, each of one N."""
        return {
            model: {
                window: tuple(next(iter(self._costs(stage).values())) for stage in runs)
                for window, runs in windows.items()
            }
            for model, windows in stages.items()
        }

    def _costs(self, stage: Stage) -> dict[int, TextCost]:
        """Return N to cost; nothing where there was no generator."""
        return {int(size): TextCost.from_dict(one) for size, one in (self.outcome(stage) or {}).items()}

    def _settings(self) -> dict[str, Any]:
        text = self.text
        scale = {name: value for name, value in asdict(self.scale).items() if name != "name"}
        return {
            "study": "gan-as-lm",
            "scale": self.scale.name,
            **json.loads(json.dumps(scale)),
            "seed": self.seed,
            "version": version("textassay"),
            "text": {"train": text.train.fingerprint, "valid": text.valid.fingerprint, "test": text.test.fingerprint},
        }
