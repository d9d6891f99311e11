"""``textassay human build``, ``export``, ``import`` and ``judge``: a study from texts, out to people and back."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from textassay.cli.adapter import Between, option
from textassay.cli.declarations import Config, Files, Generators, MaxInput, MaxText, Printing
from textassay.cli.messages import print_line
from textassay.cli.options import check_sources, parse_generators
from textassay.cli.results import print_and_save
from textassay.errors import InputError, OptionError, OutputError, unknown_name
from textassay.settings import Lowercase, Normalize, Seed

if TYPE_CHECKING:
    from textassay_lab.human.study import Study, StudyPage
    from textassay_lab.human.submissions import Accepted

StudyFolder = Annotated[Path, Argument(metavar="STUDY", help="A folder written by 'human build'.")]
NewStudy = Annotated[Path, option("Folder of the study.", "STUDY")]
PerPage = Annotated[int, option("People who judge each page.", "K", names=("--judgements",)), Between(1)]


@dataclass(frozen=True, kw_only=True)
class Build(Files, Printing):
    """Make a study: pages of real and generated texts in random order, for people to judge."""

    generators: Generators = None
    real: Annotated[str, option("Real text; '-' is standard input.", "FILE")]
    out: NewStudy
    page_size: Annotated[int, option("Number of texts on a page.", "N")] = 20
    real_per_page: Annotated[int | None, option("Number of real texts on a page; half by default.", "N")] = None
    per_generator: Annotated[int | None, option("Number of texts sampled per generator; all by default.", "N")] = None
    judgements: PerPage = 5
    check: Annotated[str | None, option("Attention check; 'fake' is the right answer.", "TEXT")] = None
    no_check: Annotated[bool, option("No attention check.", names=("--no-check",))] = False
    mark_rare: Annotated[int | None, option("Show words seen fewer than N times as underscores.", "N"), Between(1)] = (
        None
    )
    rare_from: Annotated[str | None, option("Text in which words are counted; the real text by default.", "FILE")] = (
        None
    )
    title: Annotated[str, option("Title shown to participants.", "TEXT")] = "Real or fake?"
    instructions: Annotated[
        Path | None, option("Instructions for participants; an empty line separates paragraphs.", "FILE")
    ] = None
    lowercase: Lowercase = False
    normalize: Normalize = False
    seed: Seed = 0
    config: Config = None

    def run(self) -> int:
        """Build a study, write it, say what is in it, and return 0."""
        from textassay_lab.human.document import tie_advice
        from textassay_lab.human.pages import CHECK_TEXT, build_study, mark_rare_words, side_cues, skipped_blanks
        from textassay_lab.human.study import save_study

        generators = parse_generators(self.generators or [])
        if self.rare_from is not None and self.mark_rare is None:
            raise OptionError("--rare-from needs --mark-rare N: add it, or leave --rare-from out")
        if self.no_check and self.check is not None:
            raise OptionError("--check and --no-check cannot be combined: leave one of them out")
        if not self.title.strip():
            raise OptionError("--title is empty: give the title that participants see on every page")
        if self.check is not None and not self.check.strip():
            raise OptionError("--check, the text of the attention check, is empty: use --no-check for none")
        check_no_study(self.out)
        check_sources(self.real, generators, {})
        real = self._prepared(self.real)
        generated = {name: self._prepared(source) for name, source in generators.items()}
        settings: dict[str, Any] = {"lowercase": self.lowercase, "normalize": self.normalize}
        if self.mark_rare is not None:
            counted = None if self.rare_from is None else self._prepared(self.rare_from)
            marked = mark_rare_words(real, generated, min_count=self.mark_rare, counted=counted)
            real, generated = marked.real, dict(marked.generated)
            settings["mark_rare"] = self.mark_rare
            settings["rare_from"] = "the real text" if counted is None else "another text"
        study = build_study(
            real,
            generated,
            page_size=self.page_size,
            real_per_page=self.real_per_page,
            per_generator=self.per_generator,
            judgements_per_page=self.judgements,
            check_text=None if self.no_check else self.check or CHECK_TEXT,
            title=self.title,
            instructions=_instructions(self.instructions),
            settings=settings,
            seed=self.seed,
        )
        path = save_study(study, self.out)
        for line in [*skipped_blanks(study), *side_cues(study)]:
            print_line(f"note: {line}")
        if self.judgements % 2 == 0:
            print_line(f"note: {tie_advice(self.judgements)}")
        show_study(self, study, path)
        return 0

    def _prepared(self, source: str) -> Sequence[str]:
        from textassay.corpus.normalization import normalize
        from textassay.corpus.texts import read_texts

        texts: Sequence[str] = read_texts(source, column=self.column).texts
        if self.normalize:
            return [normalize(text) for text in texts]
        return [text.lower() for text in texts] if self.lowercase else texts


@dataclass(frozen=True, kw_only=True)
class Export:
    """Export the study for another platform, without the sources of the texts."""

    study: StudyFolder
    to: Annotated[str, option("mechanical-turk, label-studio, html or csv.", "WHAT")]
    out: Annotated[Path | None, option("File or folder to write; STUDY/WHAT by default.", "DIR")] = None

    def run(self) -> int:
        """Write the files, name them, and return 0."""
        from textassay.storage import write_files
        from textassay_lab.human.html_form import html_form
        from textassay_lab.human.label_studio import label_studio_files
        from textassay_lab.human.mechanical_turk import turk_files
        from textassay_lab.human.study import load_study

        study = load_study(self.study)
        kinds: dict[str, Callable[[Study], dict[str, str]]] = {
            "mechanical-turk": turk_files,
            "label-studio": label_studio_files,
            "html": lambda study: {"form.html": html_form(study)},
            "csv": lambda study: {"items.csv": _items_csv(study)},
        }
        if self.to not in kinds:
            raise unknown_name("--to", self.to, kinds)
        beside = self.study if self.study.is_dir() else self.study.parent
        for path in write_files(beside / self.to if self.out is None else self.out, kinds[self.to](study)):
            print(path)
        return 0


@dataclass(frozen=True, kw_only=True)
class Import(Printing):
    """Import results: which submissions count, which are refused and why, and what remains to do."""

    study: StudyFolder
    files: Annotated[list[Path], Argument(metavar="FILE...", help="Result files, of any kinds together.")]
    out: Annotated[Path, option("Folder for judgements.csv, refused.csv and the report.", "DIR")]
    most_pages: Annotated[int | None, option("Pages one rater may judge; 1 by default, next-word 200.", "N")] = None
    max_input: MaxInput = "4GB"
    max_text: MaxText = 1_000_000

    def run(self) -> int:
        """Apply the rules to what was handed in, write judgements and refusals, say what counts, and return 0."""
        from textassay_lab.human.document import import_document
        from textassay_lab.human.ratings_file import ratings_csv
        from textassay_lab.human.results import read_submissions
        from textassay_lab.human.study import load_study
        from textassay_lab.human.submissions import accept, collect

        study = load_study(self.study)
        if len({file.resolve() for file in self.files}) < len(self.files):
            raise InputError("a file is given twice: give each file once")
        submissions = [one for file in self.files for one in read_submissions(file, study)]
        accepted = accept(study, submissions, most_pages=self.most_pages)
        judgements = collect(study, accepted.submissions)
        contents = {"judgements.csv": ratings_csv(judgements), "refused.csv": _refused_csv(accepted)}
        paths = [self.out / name for name in contents]
        values = {
            "files": [str(path) for path in paths],
            "accepted": len(accepted.submissions),
            "judgements": len(judgements),
            "raters": len(judgements.raters),
            "refused": [
                {"place": one.submission.place, "page": one.submission.page, "rater": one.submission.rater}
                | {"reason": one.reason}
                for one in accepted.refusals
            ],
            "open_pages": dict(accepted.open_pages),
        }
        document = import_document(accepted, judgements, paths)
        print_and_save(document, values, "import", out=self.out, others=contents, as_json=self.json)
        return 0


@dataclass(frozen=True, kw_only=True)
class JudgeInTerminal:
    """Judge in the terminal, one key per text; stop at any time and resume with the same command."""

    study: StudyFolder
    rater: Annotated[str, option("Who judges.", "NAME")]
    out: Annotated[Path, option("File for the answers, saved after each one.", "FILE.csv")]
    pages: Annotated[int, option("Pages to judge now.", "N"), Between(1)] = 1

    def run(self) -> int:
        """Let one rater judge in the terminal, and return 0."""
        from rich.console import Console

        from textassay.report.terminal import safe
        from textassay_lab.human.study import load_study
        from textassay_lab.human.terminal import BACK, QUIT, TerminalSession, judge_pages, keys_of

        study = load_study(self.study)
        session = TerminalSession(study, self.rater, self.out)
        console = Console(stderr=True)
        if session.next_page() is None:
            print_line(f"{session.rater} has judged every page of this study")
            return 0
        for text in (study.title, *study.instructions.split("\n\n")):
            console.print(safe(console, text))
            console.print()

        def show(page: "StudyPage", place: int) -> None:
            item = page.items[place]
            console.rule(f"{place + 1} of {len(page.items)}")
            console.print(safe(console, item.text))
            keys = "   ".join(f"{key}: {word}" for key, (_, word) in keys_of(item).items())
            console.print(safe(console, f"{keys}   {BACK}: back   {QUIT}: stop", "dim"))

        done = judge_pages(session, n_pages=self.pages, show=show, read_key=_read_key)
        print_line(f"{'done' if done else 'stopped; run the same command to continue'}; answers are in {self.out}")
        return 0


def check_no_study(folder: Path) -> None:
    """Raise if there is a study in `folder` already: judgements may belong to it."""
    from textassay_lab.human.study import STUDY_FILE

    if (folder / STUDY_FILE).exists():
        raise OutputError(f"there is a study in {folder} already, which may have judgements: choose another --out")


def show_study(command: Printing, study: "Study", path: Path) -> None:
    """Print what is in a new study, as `command` is asked to, and write it beside the study."""
    from textassay_lab.human.document import study_document

    values = {
        "study": str(path),
        "kind": study.kind,
        "pages": len(study.pages),
        "items": sum(not item.check for item in study.items),
        "checks": sum(item.check for item in study.items),
        "judgements_per_page": study.judgements_per_page,
        "seed": study.seed,
        "settings": dict(study.settings),
    }
    print_and_save(study_document(study, path), values, "summary", out=path.parent, as_json=command.json, quiet=True)


def _read_key() -> str:
    """Return the next key, or where nobody types the first letter of the next line; nothing at the end."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.strip().lower()[:1] or ("" if not line else " ")
    from typer import getchar

    key = getchar()
    return "" if key in ("\x04", "\x1a") else key.lower()


def _instructions(path: Path | None) -> str | None:
    from textassay.corpus.texts import read_texts

    if path is None:
        return None
    text = "\n".join(read_texts(path).texts).strip()
    if not text:
        raise InputError(f"{path} is blank: write the instructions for participants")
    return text


def _items_csv(study: "Study") -> str:
    """Return all items without who wrote them, in order: what another program needs to show them."""
    from textassay.corpus.csv_files import csv_text
    from textassay_lab.human.study import NONE_OF_THEM

    rows = []
    for page in study.pages:
        for item in page.items:
            choices = json.dumps([*item.choices, NONE_OF_THEM], ensure_ascii=False) if item.choices else ""
            rows.append((page.id, item.id, item.text, " ".join(item.labels), choices))
    return csv_text(("page", "item", "text", "labels", "choices"), rows)


def _refused_csv(accepted: "Accepted") -> str:
    from textassay.corpus.csv_files import csv_text

    rows = ((one.submission.page, one.submission.rater, one.reason, one.submission.place) for one in accepted.refusals)
    return csv_text(("page", "rater", "reason", "place"), rows)
