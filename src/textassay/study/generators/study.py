"""The study ``generators``: every generator of "Judge the Judges" trained on one text, evaluated, beside the paper.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019.
Departs from it: other text, other sizes, no people; a second world whose truth is a language model, so that the order
of generators is known.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from textassay.meta_evaluation import CheckedFinding, ReproducedTable, Reproduction
from textassay.study.generators.figures import generators_figures
from textassay.study.generators.findings import check_orders, check_paper
from textassay.study.generators.judging import Judges, judged_world, judging_stages
from textassay.study.generators.orders import drawn_values, exact_orders, judged_by_orders, order_by_volume
from textassay.study.generators.results import FLOOR, PAPER_NAMES, World, generated_cost
from textassay.study.generators.scales import GeneratorsScale
from textassay.study.generators.tables import (
    by_closeness,
    costs_table,
    exact_table,
    judged_tables,
    order_tables,
    text_table,
)
from textassay.study.generators.texts import GeneratorsTexts
from textassay.study.generators.worlds import build_worlds
from textassay.study.judges.draws import published_values
from textassay.study.judges.evaluators import LEVEL, JudgesScale
from textassay.study.staged_study import StagedStudy
from textassay.study.stages import Done, Stage

_TOLD = "samples were cut"  # a column of a table says so

_NOTES = (
    "Each generator was trained once and drew once; each classifier was trained once. Intervals and verdicts are over "
    "other text: another training may differ by more.",
    "Intervals of correlations are over other generators and other texts; temperatures and shares of the training text "
    "of one model are not independent generators, so these claim too much.",
    "Orientation as in the paper: of classifiers and Self-BLEU less is better, of word overlap, lexical diversity and "
    "BLEU against the training text more is better, whatever real text scores.",
    "In the real world the only known order is that of the training text; in the oracle world every distance is known.",
)


class GeneratorsStudy(StagedStudy):
    """The study."""

    def __init__(
        self,
        texts: GeneratorsTexts,
        scale: GeneratorsScale,
        folder: Path,
        *,
        seed: int = 0,
        n_resamples: int = 2_000,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        from textassay.training import chosen_precision, training_device

        self.texts, self.scale, self.seed, self.n_resamples = texts, scale, seed, n_resamples
        self.precision = chosen_precision(scale.precision, training_device())
        super().__init__(folder, progress)
        self.worlds = build_worlds(texts, scale, precision=self.precision, seed=seed)
        judges = JudgesScale(networks=scale.network_judges, partitions=scale.partitions)
        self.judges = [judging_stages(world, judges, seed=seed) for world in self.worlds]

    @property
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""
        return [stage for judges in self.judges for stage in (*judges.world.targets, *judges.targets)]

    def result(self) -> Reproduction:
        """Return the results beside the published ones; all stages must be done."""
        reports = [self._report(judges) for judges in self.judges]
        tables = [table for report in reports for table in report.tables]
        findings = [
            *check_paper(published_values(), level=LEVEL),
            *(one for report in reports for one in report.findings),
        ]
        ids = list(dict.fromkeys(finding.id for finding in findings))
        return Reproduction(
            title="Judge the Judges: every generator trained on one text",
            settings=self._settings(),
            tables=tuple(tables),
            findings=tuple(sorted(findings, key=lambda finding: ids.index(finding.id))),
            notes=(*(f"{name} was not there: what needs it is not measured." for name in self.texts.missing), *_NOTES,
                   *self.warning_notes(but=_TOLD)),
            seconds=self.seconds(),
            figures=generators_figures(
                tables,
                {report.world: report.closest for report in reports},
                next((report.exact for report in reports if report.exact), ()),
            ),
        )  # fmt: skip

    def _report(self, judges: Judges) -> "_Report":
        world, judged = judges.world, judged_world(judges, self._done)
        drawing: dict[str, Any] = {"n_resamples": self.n_resamples, "seed": self.seed}
        results = {name: self.outcome(one.exact) for name, one in world.generated.items() if one.exact is not None}
        exact = exact_orders({name: result for name, result in results.items() if name in judged.ranked})
        volume = order_by_volume(world, judged.ranked)
        tables = judged_tables(world.name, judged, world.n, **drawing)
        tables += [text_table(world.name, judged), self._costs(world), *exact_table(world.name, judged, results)]
        for orders in (exact, volume):
            tables += order_tables(world.name, judged_by_orders(orders, judged.evaluations, **drawing))
        about = f"{world.name} world"
        known = {FLOOR: drawn_values(about, judged.evaluations, judged.ranked, **drawing)}
        for orders in (exact[:1], volume):
            for order in orders:
                known[order.name] = drawn_values(about, judged.evaluations, order.generators, orders=orders, **drawing)
        paper = drawn_values(about, judged.evaluations, [g for g in PAPER_NAMES if g in judged.ranked], **drawing)
        findings = [*check_paper(paper, level=LEVEL), *check_orders(known, about, level=LEVEL)]
        return _Report(world.name, tables, findings, by_closeness(judged), exact[0].order if exact else ())

    def _done(self, stage: Stage) -> Done:
        done = self.stages.done(stage)
        assert done is not None, f"{stage.label} is not done"
        return done

    def _costs(self, world: World) -> ReproducedTable:
        trained = {name: self.outcome(one.trained) for name, one in world.generated.items()}
        return costs_table(
            world.name,
            {name: generated_cost(trained[name], self.outcome(one.drawn)) for name, one in world.generated.items()},
            {name: one["stopped"] for name, one in trained.items() if one["stopped"] is not None},
        )

    def _settings(self) -> dict[str, Any]:
        scale: dict[str, Any] = _plain(self.scale)
        return {
            "study": "generators",
            "scale": scale.pop("name"),
            **scale,
            "precision": self.precision,
            "draws": self.n_resamples,
            "level": LEVEL,
            "seed": self.seed,
            "version": version("textassay"),
            **{f"texts, {world.name} world": dict(world.texts.sizes) for world in self.worlds},
            "fingerprint of the training text": self.worlds[0].texts.train.settings["text"],
        }


@dataclass(frozen=True)
class _Report:
    """The report of a world: tables, findings, writers in the order of DD, generators in exact order."""

    world: str
    tables: Sequence[ReproducedTable]
    findings: Sequence[CheckedFinding]
    closest: tuple[str, ...]
    exact: tuple[str, ...]


def _plain(value: Any) -> Any:
    """Return settings, at any depth, as JSON holds them."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
