"""``textassay human next-word`` and ``exposure``: a study of the next-word task, and what came of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Argument

from textassay.cli.adapter import Between, option
from textassay.cli.declarations import Config, Files, Output, Printing
from textassay.cli.results import print_and_save
from textassay.errors import OptionError
from textassay.settings import Level, Seed
from textassay_lab.cli.human_study import NewStudy, PerPage, check_no_study, show_study

if TYPE_CHECKING:
    from textassay_lab.human.next_word import Prefix

Model = Annotated[
    str | None,
    Argument(metavar="MODEL", help="A folder written by 'train', or pretrained:NAME.", show_default=False),
]
Database = Annotated[str | None, option("Database of the study's server, if it is not in STUDY.", "URL")]


@dataclass(frozen=True, kw_only=True)
class NextWord(Files, Printing):
    """Make a study of the next-word task: people choose among a model's most probable next words."""

    model: Model = None
    real: Annotated[str | None, option("Real text that the model was not trained on.", "FILE")] = None
    source: Annotated[
        str | None, option("For a model that translates: source texts; line k of --real translates line k.", "FILE")
    ] = None
    length: Annotated[int, option("Length of a prefix in tokens.", "N"), Between(1)] = 10
    pages: Annotated[
        int, option("Number of pages; on each page, half of the items are from each side.", "N"), Between(1)
    ] = 20
    page_size: Annotated[int, option("Prefixes on a page; even.", "N"), Between(2)] = 10
    prefixes: Annotated[Path | None, option("Prefixes and candidates instead of a model.", "FILE.jsonl")] = None
    judgements: PerPage = 1
    out: NewStudy
    seed: Seed = 0
    config: Config = None

    def run(self) -> int:
        """Draw prefixes or read them, build the study, write it, say what is in it, and return 0."""
        from textassay_lab.human.next_word import build_next_word
        from textassay_lab.human.study import save_study

        if self.page_size % 2:
            raise OptionError(f"--page-size must be even, got {self.page_size}")
        check_no_study(self.out)
        of_data, of_model, name = self._prefixes()
        study = build_next_word(
            of_data,
            of_model,
            name=name,
            page_size=self.page_size,
            judgements_per_page=self.judgements,
            settings={"length": self.length} if self.prefixes is None else {},
            seed=self.seed,
        )
        show_study(self, study, save_study(study, self.out))
        return 0

    def _prefixes(self) -> "tuple[list[Prefix], list[Prefix], str]":
        """Return the prefixes from real text, those from the model, and the model's name."""
        from textassay.corpus.texts import read_texts
        from textassay_lab.cli.models import open_model
        from textassay_lab.generator.parallel import ParallelText
        from textassay_lab.human.next_word import draw_prefixes, draw_translation_prefixes, read_prefixes

        if self.prefixes is not None:
            if (self.model, self.real, self.source) != (None,) * 3:
                raise OptionError("--prefixes replaces MODEL, --real and --source: give one or the other")
            return read_prefixes(self.prefixes)
        if self.model is None or self.real is None:
            raise OptionError("give MODEL and --real FILE, or --prefixes FILE.jsonl")
        opened = open_model(self.model)
        model, n = opened.model, self.pages * self.page_size // 2
        if (getattr(model, "kind", None) == "translation") == (self.source is None):
            raise OptionError(f"--source FILE is required for models that translate, and only for these: {model.name}")
        real = read_texts(self.real, column=self.column)
        if self.source is None:
            drawn = draw_prefixes(model, opened.form.corpus(real), length=self.length, n=n, seed=self.seed)
        else:
            pairs = ParallelText.from_texts(read_texts(self.source, column=self.column), real, opened.form)
            drawn = draw_translation_prefixes(cast("Any", model), pairs, length=self.length, n=n, seed=self.seed)
        return *drawn, model.name


@dataclass(frozen=True, kw_only=True)
class Exposure(Output):
    """Measure exposure bias: how much more often people disagree with a model after its own prefixes."""

    file: Annotated[Path, Argument(metavar="FILE", help="The judgements.csv of a next-word study, or a STUDY.")]
    level: Level = 0.95
    database: Database = None

    def run(self) -> int:
        """Score the judgements of a next-word study, print the score, write it where asked, and return 0."""
        from textassay_lab.human.document import next_word_document
        from textassay_lab.human.next_word import score_next_word
        from textassay_lab.human.results import read_results

        results = read_results(self.file, database=self.database, kind="next-word")
        score = score_next_word(results.judgements, level=self.level)
        document = next_word_document(score)
        print_and_save(document, score.to_dict(), "exposure", out=self.out, as_json=self.json)
        return 0
