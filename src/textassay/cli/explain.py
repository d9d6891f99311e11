"""``textassay explain``: say what gives each generator away, print it, write it."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from textassay.cli.adapter import Between, option
from textassay.cli.declarations import Clustered, Drawable, Output, Reading, Real, Running, Tables
from textassay.cli.messages import print_line, print_notes
from textassay.cli.options import check_sources, parse_generators, read_table, split_models
from textassay.cli.results import print_result, save_or_keep, then
from textassay.errors import TooFewSentencesError
from textassay.inspection.finding import REAL as FLOOR
from textassay.settings import Explaining

if TYPE_CHECKING:
    from textassay.report.document import Document

_WIDTH_OF_FILE = 100


@dataclass(frozen=True, kw_only=True)
class Explain(Explaining, Reading, Tables, Running, Clustered, Output):
    """Show what distinguishes each generator: words, lengths, positions, sentences, and whether more text helps."""

    generators: Drawable = None
    real: Real
    top: Annotated[int, option("Number of n-grams to show in each direction.", "N"), Between(0)] = 10

    def run(self) -> int:
        names = self.generators or ()
        table = read_table(
            self.table, self.source_column, self.real, names, column=self.column, group_column=self.group_column
        )
        generators = {name: name for name in table if name != FLOOR} or parse_generators(names)
        models, written = split_models({} if table else generators, self.draw)
        check_sources(self.table or self.real, written, {})

        from textassay.cli.endpoints import print_requests
        from textassay.cli.messages import show_progress
        from textassay.cli.options import read_sources
        from textassay.comparison.comparison import RealText
        from textassay.comparison.drawn_texts import read_and_draw
        from textassay.comparison.explain import TOP, explain_generators
        from textassay.comparison.explanation_document import explanation_document
        from textassay.comparison.measure import EstimateStore
        from textassay.corpus.structure import unit_of
        from textassay.inspection.dependence import Independence

        version = installed_version("textassay")
        with self.on_cluster(), show_progress(quiet=self.quiet) as progress, self.computing():
            sources: dict[str, Any] = {FLOOR: self.real, **written, **table}
            files = read_sources(sources, column=self.column, group_column=self.group_column)
            print_notes(files, quiet=self.quiet)
            print_requests(models, self.draw or len(files[FLOOR].texts), quiet=self.quiet)
            corpora, drawn = read_and_draw(
                {name: files.get(name, source) for name, source in generators.items()},
                files[FLOOR],
                self,
                out=self.out,
                progress=progress,
            )
            real = corpora.pop(FLOOR)
            unit = unit_of(real, self.unit)
            examined = Independence.of(real, corpora, independent=self.independent)
            findings = examined.findings(corpora)
            for finding in [] if self.quiet else findings:
                print_line(f"warning {finding.generator}: {finding.message} {finding.remedy}")
            explanations, reasons = explain_generators(
                examined.texts,
                self.of_dd(unit=unit),
                top=max(TOP, self.top),
                seed=self.seed,
                store=EstimateStore(None if self.out is None else self.out / "estimates"),
                version=version,
                progress=progress,
            )
        if reasons:
            raise TooFewSentencesError(reasons[0])
        real_text = RealText.of(real, files[FLOOR].name)
        document = {
            "version": version,
            "real": real_text.to_dict(),
            "level": self.level,
            "seed": self.seed,
            "folds": self.n_folds,
            "effort": self.effort,
            **({} if self.prior is None else {"prior": self.prior}),
            **({"unit": unit} if unit == "document" else {}),
            "tokenizer": real.tokenizer,
            **({"findings": [finding.to_dict() for finding in findings]} if findings else {}),
            **({"draws": [draw.to_dict() for draw in drawn.draws], "warnings": [*drawn.warnings]} if models else {}),
            "explanations": [explanation.to_dict() for explanation in explanations],
        }
        page = explanation_document(explanations, top=self.top, draws=drawn.draws)
        with then(lambda: self._write(self.out, document, page)):
            print_result(page, document, as_json=self.json)
        if self.out is not None and not self.quiet:
            print_line(f"the explanation is in {self.out / 'explain.txt'} and explain.json")
        return 0

    def _write(self, out: Path | None, values: Mapping[str, Any], page: "Document") -> None:
        """Write ``explain.json``, ``explain.txt``, ``explain.md``, ``explain.html`` and the figures, if asked for."""
        if out is None:
            return
        from rich.console import Console

        from textassay.report.files import document_files
        from textassay.report.terminal import print_document
        from textassay.storage import write_files

        text = io.StringIO()
        print_document(page, Console(file=text, width=_WIDTH_OF_FILE, force_terminal=False, no_color=True))
        contents = {
            "explain.json": json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
            "explain.txt": text.getvalue().lstrip("\n"),
        }
        files = {**contents, **document_files(page, stem="explain")}
        save_or_keep(lambda folder: write_files(folder, files), out)
