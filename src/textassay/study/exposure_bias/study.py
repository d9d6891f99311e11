"""The study ``exposure-bias``: its missing stages are computed, and results are compared with the paper.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019.
Departs from it: other texts, and networks as a scale says; what stands for P_D of translation is a model, not people.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from textassay.estimate import Estimate
from textassay.exposure import BleuRun, EbDd, PrefixRun, SwitchedSample, TranslationCurve
from textassay.generator import Quantity
from textassay.meta_evaluation import Reproduction
from textassay.study.exposure_bias.experiment import build_exposure
from textassay.study.exposure_bias.figures import exposure_reproduction
from textassay.study.exposure_bias.results import RANKGAN, ExposureResults, ForcedTranslation, TranslationResults
from textassay.study.exposure_bias.scales import ExposureScale
from textassay.study.exposure_bias.stages import quantity_from_dict
from textassay.study.exposure_bias.texts import ExposureTexts
from textassay.study.exposure_bias.values import by_training, mean_of_trainings
from textassay.study.presets import Contest, Network
from textassay.study.staged_study import StagedStudy
from textassay.study.stages import Stage


class ExposureStudy(StagedStudy):
    """The study."""

    def __init__(
        self,
        texts: ExposureTexts,
        scale: ExposureScale,
        folder: Path,
        *,
        seed: int = 0,
        runs: int | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        from textassay.training import chosen_precision, training_device

        self.texts, self.seed = texts, seed
        self.scale = scale if runs is None else replace(scale, runs=runs, bleu_runs=runs)
        self.precision = chosen_precision(scale.precision, training_device())
        super().__init__(folder, progress)
        self.experiment = build_exposure(texts, self.scale, precision=self.precision, seed=seed)

    @property
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""
        return self.experiment.targets

    def result(self) -> Reproduction:
        """Return the results beside the published ones; all stages must be done."""
        return exposure_reproduction(self.measured(), retrained=self.scale.retrained)

    def measured(self) -> ExposureResults:
        """Return the results of the stages; all must be done."""
        experiment = self.experiment
        sizes = {name: dict(text.sizes) for name, text in self.texts.free.items()}
        if self.texts.pairs is not None:
            sizes["multi30k"] = self.texts.pairs.sizes
        return ExposureResults(
            bleu={
                text: {
                    model: by_training(
                        [BleuRun.from_dict(self.outcome(stage)) for stage in runs],
                        self.scale.trainings if self.scale.retrained else None,
                    )
                    for model, runs in of.items()
                }
                for text, of in experiment.bleu.items()
            },
            synthetic=self._runs(experiment.synthetic),
            perplexity=self._perplexities(experiment.perplexity),
            held_out_perplexity=self._perplexities(experiment.held_out_perplexity),
            eb_dd={title: EbDd.from_dict(self.outcome(stage)) for title, stage in experiment.eb_dd.items()},
            translation=self._translation(),
            switching={
                title: tuple(SwitchedSample(**sample) for sample in self.outcome(stage))
                for title, stage in experiment.switching.items()
            },
            sizes=sizes,
            seconds=self.seconds(),
            settings=self._settings(),
            missing=self.texts.missing,
            notes=tuple(self._notes()),
            others=self._runs(experiment.others),
            oracle_costs={
                title: quantity_from_dict(cost)
                for title, cost in self.outcome(experiment.adversarial[RANKGAN])["oracle"].items()
            },
            stopped={
                title: why
                for title, stage in experiment.adversarial.items()
                if (why := self.outcome(stage)["stopped"]) is not None
            },
        )

    def _runs(
        self, models: Mapping[str, Mapping[str, Sequence[Stage]]]
    ) -> dict[str, dict[str, tuple[PrefixRun, ...]]]:  # fmt: skip
        return {
            model: {
                kind: tuple(PrefixRun.from_dict(self.outcome(stage)) for stage in runs) for kind, runs in of.items()
            }
            for model, of in models.items()
        }

    def _perplexities(self, table: Mapping[str, Mapping[str, Sequence[Stage]]]) -> dict[str, dict[str, Quantity]]:
        return {
            row: {
                column: mean_of_trainings([quantity_from_dict(self.outcome(stage)["perplexity"]) for stage in trained])
                for column, trained in columns.items()
            }
            for row, columns in table.items()
        }

    def _translation(self) -> TranslationResults | None:
        stages, pairs = self.experiment.translation, self.texts.pairs
        if stages is None or pairs is None:
            return None
        quality = self.outcome(stages.quality)
        samples = sorted(quality["samples"], key=lambda sample: sample["number"])  # all modes of one, then of the next
        return TranslationResults(
            Estimate.from_dict(quality["bleu"]),
            {name: TranslationCurve.from_dict(curve) for name, curve in self.outcome(stages.bias).items()},
            tuple(
                ForcedTranslation(
                    pairs.test.source.texts[sample["number"]],
                    pairs.references[sample["number"]],
                    sample["mode"],
                    sample["prefix"],
                    sample["continuation"],
                )
                for sample in samples
            ),
        )

    def _settings(self) -> dict[str, Any]:
        texts = {
            name: {"train": text.train.fingerprint, "valid": text.valid.fingerprint, "unseen": text.unseen.fingerprint}
            for name, text in self.texts.free.items()
        }
        if self.texts.pairs is not None:
            pairs = self.texts.pairs
            texts["multi30k"] = {"train": pairs.train.fingerprint, "test": pairs.test.fingerprint}
        return {
            "study": "exposure-bias",
            "scale": self.scale.name,
            **{
                name: _in_words(value)
                for name, value in self.scale.__dict__.items()
                if name not in ("name", "precision")
            },
            "precision": self.precision,
            "seed": self.seed,
            "version": version("textassay"),
            **{f"text, {name}": _in_words(parts) for name, parts in texts.items()},
        }

    def _notes(self) -> list[str]:
        notes = []
        for name, text in self.texts.free.items():
            rate = text.unseen.unk_rate
            notes.append(f"{name}: {100 * rate:.1f} % of the unseen words are <unk>, in references and prefixes alike.")
        if self.scale.retrained:
            notes.append(
                f"Models whose EB-bleu is measured were trained {self.scale.trainings} times, those of EB-C "
                f"{self.scale.runs} times, from other seeds, and on fresh draws where they learn from a model; the "
                "data model of EB-C is the first training. Values are means over trainings, with intervals over them."
            )
        return [*notes, *self.warning_notes()]


def _in_words(value: Any) -> Any:
    """Return a setting in words, or as it is where it is a plain number or word."""
    if isinstance(value, Network):
        return ", ".join([value.preset, *(f"{name} {_in_words(one)}" for name, one in value.changes.items())])
    if isinstance(value, Contest):
        parts = ("generator", value.network), ("rounds", value.recipe)
        return "; ".join([value.preset, *(_in_words(Network(name, part)) for name, part in parts if part)])
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_in_words(one)}" for name, one in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "all" if value is None else value
