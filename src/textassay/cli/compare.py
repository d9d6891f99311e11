"""``textassay compare``: read the texts, measure, print, write."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from textassay.cli.declarations import (
    All,
    Clustered,
    Device,
    Draw,
    Drawable,
    Effort,
    Encoder,
    Explain,
    FailIf,
    Features,
    FitReal,
    Folds,
    Heldout,
    Level,
    LogProbs,
    Metrics,
    NoLogProbs,
    Output,
    Paper,
    Prior,
    PromptColumn,
    Ratings,
    Reading,
    Real,
    Running,
    Summary,
    Train,
    Unit,
)
from textassay.cli.messages import print_json, print_line
from textassay.cli.options import (
    Condition,
    check_sources,
    parse_condition,
    parse_files,
    parse_generators,
    split_models,
    summary_file,
)
from textassay.errors import OptionError
from textassay.inspection import HELDOUT
from textassay.inspection import REAL as FLOOR
from textassay.storage import with_addresses

if TYPE_CHECKING:
    from textassay.comparison import Comparison, SideColumns
    from textassay.corpus import TextFile

_OTHER_REAL = "give real text of another draw, or leave it out"
_REMEDIES = {
    "--real-heldout": _OTHER_REAL,
    HELDOUT: _OTHER_REAL,
    "--train": "compare with real text that the generators have not seen",
    "--fit-real": "give real text of another draw, on which nothing is tested",
}


@dataclass(frozen=True, kw_only=True)
class Compare(Reading, Running, Clustered, Output):
    """Compare generated text with real text: how far it is, which generator is closer, and how sure that is."""

    generators: Drawable = None
    real: Real
    draw: Draw = None
    real_heldout: Heldout = None
    train: Train = None
    fit_real: FitReal = None
    prompt_column: PromptColumn = None
    features: Features = None
    log_probs: LogProbs = None
    no_log_probs: NoLogProbs = False
    ratings: Ratings = None
    metrics: Metrics = None
    effort: Effort = "default"
    encoder: Encoder = None
    paper: Paper = False
    prior: Prior = None
    unit: Unit = "auto"
    explain: Explain = True
    folds: Folds = None
    level: Level = 0.95
    device: Device = "auto"
    fail_if: FailIf = None
    summary: Summary = None
    all: All = False

    def run(self) -> int:
        """Compare, print, write; return 0, or 1 where ``--fail-if`` holds."""
        generators = parse_generators(self.generators or [])
        named_files = {"--features": self.features, "--log-probs": self.log_probs, "--ratings": self.ratings}
        beside = {option: parse_files(option, files or []) for option, files in named_files.items()}
        if self.paper and self.folds is not None:
            raise OptionError("--paper and --folds cannot go together: the paper has one split; leave one of them out")
        conditions = [parse_condition(text) for text in self.fail_if or ()]
        optional = {"--real-heldout": self.real_heldout, "--train": self.train, "--fit-real": self.fit_real}
        named = {name: source for name, source in optional.items() if source is not None}

        from textassay.comparison import check_beside

        models, written = split_models(generators, self.draw)
        check_sources(self.real, {**named, **written}, _REMEDIES)

        from textassay.cli.endpoints import say_answers, say_requests
        from textassay.cli.progress import show_progress
        from textassay.comparison import FOLDS, check_names, compare
        from textassay.corpus import read_features
        from textassay.metric import check_effort, split_names

        check_names(
            list(generators),
            ["real", *(option.removeprefix("--") for option in named)],
            features=beside["--features"],
            log_probs=beside["--log-probs"],
            ratings=beside["--ratings"],
        )
        check_beside(models, {option[2:].replace("-", "_"): files for option, files in beside.items()})
        metrics = None if self.metrics is None else split_names(self.metrics)
        measured = self._metrics_of(conditions, metrics, beside)
        with show_progress(quiet=self.quiet) as progress, self.on_cluster():
            files = self._read(written)
            self._metrics_of(conditions, metrics, beside, files[FLOOR])
            others = say_answers(models, files[FLOOR].prompts, seed=self.seed, quiet=self.quiet, out=self.out)
            say_requests(others, self.draw or len(files[FLOOR].texts), quiet=self.quiet)
            comparison = compare(
                {name: files.get(name, source) for name, source in generators.items()},
                files[FLOOR],
                real_heldout=files.get(HELDOUT),
                train=files.get("--train"),
                fit_real=files.get("--fit-real"),
                features={name: read_features(path) for name, path in beside["--features"].items()} or None,
                log_probs=_side_columns(beside["--log-probs"], files),
                own_log_probs=not self.no_log_probs,
                ratings=_side_columns(beside["--ratings"], files),
                metrics=metrics,
                effort=check_effort(self.effort),
                encoder=self.encoder,
                paper=self.paper,
                prior=cast(Any, self.prior),  # checked by `_metrics_of`
                unit=self.unit,
                explain=self.explain,
                draw=self.draw,
                tokenizer=self.tokenizer,
                lowercase=self.lowercase,
                normalize=self.normalize,
                max_tokens=self.max_tokens,
                folds=FOLDS if self.folds is None else self.folds,
                level=self.level,
                independent=self.independent,
                seed=self.seed,
                workers=self.workers,
                device=self.device,
                out=self.out,
                progress=progress,
            )
            if self.out is not None:
                from textassay.report import write_report

                texts = {name: file.texts for name, file in files.items()}
                write_report(comparison, self.out, texts={**(comparison.texts or {}), **texts} if models else texts)
        self._print(comparison)
        if self.out is not None and not self.quiet and (self.json or self.all):  # one screen says it itself
            print_line(f"the report is {self.out / 'report.html'}")
        failures = _failures(comparison, zip(conditions, measured, strict=True))
        if self.summary is not None:
            from textassay.report import comparison_summary
            from textassay.storage import append_file

            append_file(summary_file(self.summary), comparison_summary(comparison, failures=failures))
        for failure in failures:
            print(f"textassay: --fail-if {failure}", file=sys.stderr)
        return int(bool(failures))

    def _print(self, comparison: "Comparison") -> None:
        if self.json:
            print_json(comparison.to_dict())
            return
        from rich.console import Console

        from textassay.report import comparison_document, print_document, screen_document

        console = Console()
        if self.all:
            print_document(comparison_document(comparison), console, everything=False)
            return
        page = "--all. The same with figures, as a page: --out DIR." if self.out is None else self.out / "report.html"
        print_document(screen_document(comparison, where=with_addresses(page), console=console), console)

    def _unit_of(self, real: Sequence[str]) -> str:
        """Return the unit as `--unit` says, or as the real texts look."""
        from textassay.corpus import AUTO_UNIT, look_like_documents

        if self.unit != AUTO_UNIT:
            return self.unit
        return "document" if self.max_tokens is None and look_like_documents(real) else "sentence"

    def _metrics_of(
        self,
        conditions: Sequence[Condition],
        metrics: Sequence[str] | None,
        beside: Mapping[str, Any],
        real: "TextFile | None" = None,
    ) -> list[str]:
        """Return the full names of the conditions' metrics; raise where one of them is not among the metrics.

        Before the real texts are read, they may be anything.
        """
        from textassay.comparison import FOLDS, metric_settings
        from textassay.metric import default_metrics, parse_metric, parse_metrics

        settings = metric_settings(
            effort=self.effort,
            encoder=self.encoder,
            has_features=bool(beside["--features"]),
            folds=FOLDS if self.folds is None else self.folds,
            level=self.level,
            paper=self.paper,
            prior=self.prior,
        )
        extras = {
            "train": self.train,
            "log-probs": self.log_probs,
            "ratings": self.ratings,
            "prompts": self.prompt_column or real is None or real.prompts is not None,
        }
        unit = self.unit if real is None else self._unit_of(real.texts)
        if metrics is None:
            available = [name for name, value in extras.items() if value]
            metrics = default_metrics(available, unit="document" if unit == "document" else "sentence")
        chosen = [metric.name for metric in parse_metrics(metrics, **settings)]
        asked = [parse_metric(condition.metric, **settings) for condition in conditions]
        of = "metrics of documents" if unit == "document" else "metrics"
        for condition, metric in zip(conditions, asked, strict=True):
            if metric.name not in chosen:
                lacking = [need for need in metric.declaration.needs if not extras.get(need)]
                needs = f"; it needs {' and '.join(lacking)}" if lacking else ""
                raise OptionError(
                    f"--fail-if '{condition}': {metric.name} is not among the {of}, {', '.join(chosen)}{needs}"
                )
        return [metric.name for metric in asked]

    def _read(self, generators: Mapping[str, str]) -> "dict[str, TextFile]":
        """Return what was read, the real text under the names that results give it."""
        from textassay.cli.options import read_sources

        beside = {HELDOUT: self.real_heldout, "--train": self.train, "--fit-real": self.fit_real}
        sources = {FLOOR: self.real, **beside, **generators}
        return read_sources(
            {name: source for name, source in sources.items() if source is not None},
            column=self.column,
            group_column=self.group_column,
            prompt_column=self.prompt_column,
            without_prompts=("--train", "--fit-real"),
            remedies=_REMEDIES,
        )


def _side_columns(files: Mapping[str, str], texts: "Mapping[str, TextFile]") -> "SideColumns | None":
    from textassay.corpus import read_side_columns

    n_real = len(texts[FLOOR].texts)
    return {
        name: read_side_columns(path, n_generated=len(texts[name].texts), n_real=n_real) for name, path in files.items()
    } or None


def _failures(comparison: "Comparison", conditions: Iterable[tuple[Condition, str]]) -> list[str]:
    """Return which generators meet a ``--fail-if`` condition; one that has no value meets it too."""
    failures = []
    for condition, metric in conditions:
        met = []
        for name in comparison.generators:
            estimate = comparison.result(name, metric).estimate
            value: Any = None if estimate is None else estimate.to_dict()["value"]
            if value is None:
                met.append(f"{name} (no value)")
            elif condition.holds(value):
                met.append(f"{name} ({value:.6g})")
        if met:
            failures.append(f"'{condition}' holds for {', '.join(met)}")
    return failures
