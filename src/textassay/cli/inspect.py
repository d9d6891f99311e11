"""``textassay inspect``: say how files are read, and find what is trivially different between the texts."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from textassay.cli.adapter import option
from textassay.cli.declarations import Config, Generators, Output, Tables, Tokens, Train
from textassay.cli.options import check_sources, parse_generators, read_table
from textassay.cli.results import print_and_save
from textassay.errors import OptionError
from textassay.inspection.finding import REAL as FLOOR
from textassay.settings import MaxTokens, Normalize

if TYPE_CHECKING:
    from textassay.corpus.corpus import TextOptions

TRAIN = "--train"


@dataclass(frozen=True, kw_only=True)
class Inspect(Tokens, Tables, Output):
    """Show how files are read; with --real, find trivial differences between the texts."""

    generators: Generators = None
    real: Annotated[str | None, option("Real text to compare with; without it, each file is described.", "FILE")] = None
    train: Train = None
    normalize: Normalize = False
    max_tokens: MaxTokens = None
    config: Config = None

    @property
    def text(self) -> "TextOptions":
        """How all texts are prepared."""
        return {
            "tokenizer": self.tokenizer,
            "lowercase": self.lowercase,
            "normalize": self.normalize,
            "max_tokens": self.max_tokens,
        }

    def run(self) -> int:
        table = read_table(
            self.table, self.source_column, self.real or "", self.generators or (), column=self.column
        )  # fmt: skip
        generators = dict.fromkeys(table, "") if table else parse_generators(self.generators or [])
        if self.real is None:
            return self._show(generators)
        generators.pop(FLOOR, None)
        others = {} if self.train is None else {TRAIN: self.train}
        written = {} if table else generators
        remedy = {TRAIN: "give the training text of the generators, or leave it out"}
        check_sources(self.table or self.real, {**others, **written}, remedy)

        from textassay.corpus.corpus import corpora_from_texts
        from textassay.corpus.texts import read_texts
        from textassay.corpus.tokenizer import SpacingWarning
        from textassay.inspection.document import inspection_document
        from textassay.inspection.inspection import inspect, reading_findings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpacingWarning)  # the findings say it
            sources = {**others, **written} if table else {FLOOR: self.real, **others, **written}
            files = {name: read_texts(source, column=self.column) for name, source in sources.items()} | table
            corpora = corpora_from_texts(files, **self.text)
        generated = {name: corpora[name] for name in generators}
        findings = [*reading_findings(files), *inspect(generated, corpora[FLOOR], train=corpora.get(TRAIN))]
        values = {"findings": [finding.to_dict() for finding in findings]}
        print_and_save(inspection_document(findings), values, "inspection", out=self.out, as_json=self.json)
        return 0

    def _show(self, sources: dict[str, str]) -> int:
        """Print what is read of each file."""
        if self.train is not None:
            raise OptionError(
                "--train needs --real: copies of the training text are searched for in a comparison. Add --real FILE"
            )
        check_sources(next(iter(sources.values())), {}, {})

        from textassay.corpus.corpus import corpora_from_texts
        from textassay.corpus.texts import read_texts
        from textassay.corpus.tokenizer import SpacingWarning
        from textassay.inspection.inspection import inspect_corpus, reading_findings
        from textassay.inspection.reading import reading_document, reading_values

        files = {name: read_texts(source, column=self.column) for name, source in sources.items()}
        findings = reading_findings(files)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpacingWarning)  # the findings say it
            for name, corpus in corpora_from_texts(files, **self.text).items():
                findings += inspect_corpus(corpus, name=name)
        values = {"files": reading_values(files), "findings": [finding.to_dict() for finding in findings]}
        print_and_save(reading_document(files, findings), values, "inspection", out=self.out, as_json=self.json)
        return 0
