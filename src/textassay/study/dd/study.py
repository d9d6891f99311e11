"""The studies ``dd-real`` and ``dd-synthetic``: missing stages are computed, and results compared with the paper.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from textassay.errors import unknown_name
from textassay.meta_evaluation import Cell, ReproducedTable, Reproduction, beside
from textassay.study.dd.agreement import Corpus, agreements, tau_cells
from textassay.study.dd.experiment import Experiment, build
from textassay.study.dd.findings import check_findings, of_this_text
from textassay.study.dd.published import published_table
from textassay.study.dd.real import real_texts
from textassay.study.dd.results import (
    OUR_DD,
    Measurements,
    curves,
    gather,
    measured_values,
    memorisation,
    tables,
    temperature_table,
)
from textassay.study.dd.scales import Scale
from textassay.study.dd.synthetic import synthetic_texts
from textassay.study.dd.text import StudyText
from textassay.study.measures import LEVEL, LM
from textassay.study.staged_study import StagedStudy
from textassay.study.stages import Stage

_CUT = " samples were cut at "  # a warning; the table of drawn sentences has the shares
STUDIES: Mapping[str, Corpus] = {"dd-real": "real", "dd-synthetic": "synthetic"}


class DdStudy(StagedStudy):
    """One of the two studies."""

    def __init__(
        self,
        name: str,
        text: StudyText,
        scale: Scale,
        folder: Path,
        *,
        seed: int = 0,
        initialisations: int | None = None,
        positives: Literal["everything", "fraction"] = "everything",
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        if name not in STUDIES:
            raise unknown_name("study", name, STUDIES)
        self.name, self.text, self.scale, self.seed, self.positives = name, text, scale, seed, positives
        super().__init__(folder, progress)
        synthetic = STUDIES[name] == "synthetic"
        self.texts = synthetic_texts(text, scale, seed=seed) if synthetic else real_texts(text)
        self.initialisations = scale.initialisations if initialisations is None else initialisations
        self.experiment: Experiment = build(
            self.texts,
            scale,
            text.form,
            longest=text.longest,
            seed=seed,
            initialisations=self.initialisations,
            positives=positives,
        )

    @property
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""
        return self.experiment.targets

    def result(self) -> Reproduction:
        """Return the results; all stages must be done."""
        corpus = STUDIES[self.name]
        measurements = gather(self.experiment, self.stages)
        measured = measured_values(measurements, corpus)
        taus = agreements(measured, level=LEVEL, seed=self.seed)
        differs = f"another corpus and, at scale {self.scale.name}, other sizes and networks"
        differences = {
            "FED": "another encoder",
            LM: "a model from another seed",
            OUR_DD: "our classifier, on text that no generator saw",
        }
        of_taus = published_table({"real": "table 4", "synthetic": "table 5"}[corpus])
        memory = memorisation(measurements)
        return Reproduction(
            title=f"Distributional Discrepancy on {corpus} text",
            settings=self._settings(),
            tables=(
                *tables(measurements, corpus, differs=differs),
                beside(of_taus, tau_cells(taus, differs=differences), differs=differs),
                *([] if memory is None else [memory]),
                temperature_table(measurements),
                *self._sampled(measurements),
            ),
            findings=of_this_text(check_findings([measured], taus, level=LEVEL), corpus),
            taus=taus,
            curves=curves(measurements),
            notes=tuple(self._notes()),
            seconds=self.seconds(),
        )

    def _settings(self) -> dict[str, object]:
        text = self.text
        return {
            "study": self.name,
            "scale": self.scale.name,
            **{name: value for name, value in asdict(self.scale).items() if name != "name"},
            "initialisations": self.initialisations,
            "positives": self.positives,
            "seed": self.seed,
            "version": version("textassay"),
            "tokenizer": text.form.tokenizer.name,
            "vocabulary": len(text.form.vocabulary),
            "longest": text.longest,
            "train": text.train.fingerprint,
            "valid": text.valid.fingerprint,
            "test": text.test.fingerprint,
            "unk_rate_train": text.unk_rates[0],
            "unk_rate_test": text.unk_rates[1],
        }

    def _sampled(self, measurements: Measurements) -> list[ReproducedTable]:
        """Return what is known of the sentences that were drawn: unknown tokens, cut sentences, lengths."""
        cells = []
        for name, stage in measurements.experiment.drawn.items():
            done = self.stages.done(stage)
            if done is not None:
                statistics = done.result["test"]
                cells += [
                    Cell(name, key.replace("_", " "), statistics[key])
                    for key in ("unk_rate", "cut_share", "mean_length")
                ]
        return [ReproducedTable("drawn", "Test sentences of the generators", tuple(cells))]

    def _notes(self) -> list[str]:
        text, scale = self.text, self.scale
        notes = []
        if text.n_cut:
            notes.append(
                f"{text.n_cut} sentences were cut after {text.longest} tokens, the longest of the training text."
            )
        if self.texts.unseen is None:
            notes.append("There is no real text that no generator saw, beyond validation and test text, at this scale.")
        if scale.preset != "paper":
            notes.append(f"Networks are those of the preset {scale.preset}, not the paper's.")
        return [*notes, *self.warning_notes(but=_CUT)]
