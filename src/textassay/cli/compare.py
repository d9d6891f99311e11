"""``textassay compare``: read the texts, measure, print, write."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from textassay.cli.adapter import Check, option
from textassay.cli.declarations import Clustered, Drawable, Output, Reading, Real, Running, Tables, Train
from textassay.cli.messages import print_json, print_line
from textassay.cli.options import (
    Condition,
    check_sources,
    check_writable,
    parse_condition,
    parse_files,
    parse_generators,
    read_table,
    split_models,
    summary_file,
)
from textassay.cli.results import save_or_keep, then
from textassay.errors import OptionError
from textassay.inspection.finding import HELDOUT
from textassay.inspection.finding import REAL as FLOOR
from textassay.settings import OUTPUT, TEXTS, Comparing
from textassay.storage import with_addresses

if TYPE_CHECKING:
    from textassay.comparison.columns import SideColumns
    from textassay.comparison.comparison import Comparison
    from textassay.corpus.text_file import TextFile

_OTHER_REAL = "give other real text, or leave it out"
_REMEDIES = {
    "--real-heldout": _OTHER_REAL,
    HELDOUT: _OTHER_REAL,
    "--train": "compare with real text that the generators have not seen",
    "--fit-real": "give other real text, on which nothing is tested",
}


@dataclass(frozen=True, kw_only=True)
class Compare(Comparing, Reading, Tables, Running, Clustered, Output):
    """Compare generated text with real text: how far it is, which generator is closer, and how sure that is."""

    generators: Drawable = None
    real: Real
    real_heldout: Annotated[
        str | None, option("More real text: a second row that shows how real text scores.", "FILE")
    ] = None
    train: Train = None
    fit_real: Annotated[
        str | None, option("More real text to train dd's classifiers on; nothing is tested on it.", "FILE")
    ] = None
    prompt_column: Annotated[str | None, option("Column of the prompts that the texts answer.", "NAME", TEXTS)] = None
    features: Annotated[
        list[str] | None, option("Vectors of real, real-heldout or a generator; may be repeated.", "NAME=FILE.npy")
    ] = None
    log_probs: Annotated[
        list[str] | None, option("Log-probabilities (nats) under generator NAME; may be repeated.", "NAME=FILE")
    ] = None
    ratings: Annotated[
        list[str] | None, option("People's ratings of generator NAME's texts; may be repeated.", "NAME=FILE")
    ] = None
    fail_if: Annotated[
        list[str] | None,
        option("Exit with status 1 if a generator's value meets this; may be repeated.", "'dd>0.3'", OUTPUT),
    ] = None
    junit: Annotated[Path | None, option("Write the verdicts of --equivalent as JUnit XML.", "FILE.xml", OUTPUT)] = None
    summary: Annotated[
        str | None,
        option(
            "Append a short Markdown summary to FILE; without FILE, to the summary of a GitHub job.",
            "[FILE.md]",
            OUTPUT,
        ),
        Check("textassay.cli.options:summary_file"),
    ] = None
    all: Annotated[
        bool, option("Print every metric, pair and note, not one screen.", panel=OUTPUT, names=("--all",))
    ] = False

    def run(self) -> int:
        """Compare, print, write; return 0, 1 where ``--fail-if`` holds or ``--equivalent`` fails, 3 if it is open."""
        table = read_table(
            self.table, self.source_column, self.real, self.generators or (),
            column=self.column, group_column=self.group_column, prompt_column=self.prompt_column,
        )  # fmt: skip
        generators = {name: name for name in table if name != FLOOR} or parse_generators(self.generators or [])
        named_files = {"features": self.features, "log_probs": self.log_probs, "ratings": self.ratings}
        beside = {key: parse_files(f"--{key.replace('_', '-')}", files or []) for key, files in named_files.items()}
        if self.paper and self.folds is not None:
            raise OptionError("--paper and --folds cannot be combined: the paper has one split. Leave one of them out")
        conditions = [parse_condition(text) for text in self.fail_if or ()]
        if self.junit is not None:
            if self.equivalent is None:
                raise OptionError("--junit writes the verdicts of --equivalent: add --equivalent 0.1")
            check_writable(self.junit.parent, "--junit")
        optional = {"--real-heldout": self.real_heldout, "--train": self.train, "--fit-real": self.fit_real}
        named = {name: source for name, source in optional.items() if source is not None}

        models, written = split_models({} if table else generators, self.draw)
        check_sources(self.table or self.real, {**named, **written}, _REMEDIES)

        from textassay.cli.endpoints import print_answers, print_requests
        from textassay.cli.messages import show_progress
        from textassay.comparison.columns import check_names
        from textassay.comparison.comparison import FIT_REAL, TRAIN
        from textassay.comparison.run import compare_texts
        from textassay.comparison.sources import check_beside
        from textassay.corpus.number_files import read_features

        check_names(list(generators), ["real", *(option.removeprefix("--") for option in named)], **beside)
        check_beside(models, beside)
        measured = self._metrics_of(conditions, beside)
        with show_progress(quiet=self.quiet) as progress, self.on_cluster():
            files = self._read({**written, **table})
            self._metrics_of(conditions, beside, files[FLOOR])
            others = print_answers(models, files[FLOOR].prompts, seed=self.seed, quiet=self.quiet, out=self.out)
            print_requests(others, self.draw or len(files[FLOOR].texts), quiet=self.quiet)
            comparison = compare_texts(
                {name: files.get(name, source) for name, source in generators.items()},
                {
                    FLOOR: files[FLOOR],
                    HELDOUT: files.get(HELDOUT),
                    TRAIN: files.get("--train"),
                    FIT_REAL: files.get("--fit-real"),
                },
                self,
                beside={
                    "features": {name: read_features(path) for name, path in beside["features"].items()} or None,
                    "log_probs": _side_columns(beside["log_probs"], files),
                    "ratings": _side_columns(beside["ratings"], files),
                },
                out=self.out,
                progress=progress,
            )
        texts = {name: file.texts for name, file in files.items()}
        if models:
            texts = {**(comparison.texts or {}), **texts}
        with then(lambda: self._save(comparison, texts)):
            self._print(comparison)
        if self.out is not None and not self.quiet and (self.json or self.all):  # one screen says it itself
            print_line(f"the report is {self.out / 'report.html'}")
        failures = _failures(comparison, zip(conditions, measured, strict=True))
        if self.summary is not None:
            from textassay.comparison.summary import comparison_summary
            from textassay.storage import append_file

            append_file(summary_file(self.summary), comparison_summary(comparison, failures=failures))
        for failure in failures:
            print_line(f"--fail-if {failure}")
        return int(bool(failures)) or self._tell_equivalence(comparison)

    def _tell_equivalence(self, comparison: "Comparison") -> int:
        """Write the verdicts where asked, say who does not pass, and return their exit status."""
        if not comparison.equivalence:
            return 0
        from textassay.comparison.equivalence import exit_status
        from textassay.comparison.equivalence_document import junit_xml, names_by_verdict
        from textassay.storage import write_file

        if self.junit is not None:
            write_file(self.junit, junit_xml(comparison))
        if names := names_by_verdict(comparison.equivalence):
            print_line(f"--equivalent: {names}")
        return exit_status(comparison.equivalence)

    def _save(self, comparison: "Comparison", texts: "Mapping[str, Sequence[str]]") -> None:
        """Write the report, if asked for."""
        if self.out is None:
            return
        from textassay.comparison.document import write_report

        save_or_keep(lambda folder: write_report(comparison, folder, texts=texts), self.out)

    def _print(self, comparison: "Comparison") -> None:
        if self.json:
            print_json(comparison.to_dict())
            return
        from rich.console import Console

        from textassay.comparison.document import comparison_document, screen_document
        from textassay.report.terminal import print_document

        console = Console()
        if self.all:
            print_document(comparison_document(comparison), console, everything=False)
            return
        page = "--all. The same as a page with figures: --out DIR." if self.out is None else self.out / "report.html"
        print_document(screen_document(comparison, where=with_addresses(page), console=console), console)

    def _unit_of(self, real: Sequence[str]) -> str:
        """Return the unit as `--unit` says, or as the real texts look."""
        from textassay.corpus.structure import AUTO_UNIT, look_like_documents

        if self.unit != AUTO_UNIT:
            return self.unit
        return "document" if self.max_tokens is None and look_like_documents(real) else "sentence"

    def _metrics_of(
        self,
        conditions: Sequence[Condition],
        beside: Mapping[str, Any],
        real: "TextFile | None" = None,
    ) -> list[str]:
        """Return the full names of the conditions' metrics; raise where one of them is not among the metrics.

        Before the real texts are read, they may be anything.
        """
        from textassay.metric.catalog import default_metrics, parse_metric, parse_metrics

        settings = self.of_metrics(has_features=bool(beside["features"]))
        extras = {
            "train": self.train,
            "log-probs": self.log_probs,
            "ratings": self.ratings,
            "prompts": not self.paper and (self.prompt_column or real is None or real.prompts is not None),
        }
        unit = self.unit if real is None else self._unit_of(real.texts)
        metrics = self.metrics
        if metrics is None:
            available = [name for name, value in extras.items() if value]
            metrics = default_metrics(available, unit="document" if unit == "document" else "sentence")
        chosen = [metric.name for metric in parse_metrics(metrics, **settings)]
        if self.equivalent is not None:
            from textassay.comparison.equivalence import checked_margins

            checked_margins(self.equivalent, chosen, settings)
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

    def _read(self, generators: "Mapping[str, str | TextFile]") -> "dict[str, TextFile]":
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
    from textassay.corpus.number_files import read_side_columns

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
