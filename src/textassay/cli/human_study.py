"""``textassay human build``, ``export``, ``import`` and ``judge``: a study from texts, out to people and back."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from textassay.cli.messages import print_line
from textassay.cli.options import check_sources
from textassay.corpus.csv_text import csv_text
from textassay.corpus.normalization import normalize
from textassay.corpus.rare_words import mark_rare_words
from textassay.corpus.reader import read_texts
from textassay.errors import InputError, OptionError, OutputError, check_range, unknown_name
from textassay.human.acceptance import Accepted, accept, collect
from textassay.human.files import read_submissions
from textassay.human.html_form import html_form
from textassay.human.label_studio import label_studio_files
from textassay.human.pages import CHECK_TEXT, build_study, giveaways, skipped_blanks
from textassay.human.ratings_file import ratings_csv
from textassay.human.study import NONE_OF_THEM, STUDY_FILE, Study, StudyPage, load_study, save_study
from textassay.human.terminal import BACK, QUIT, TerminalSession, judge_pages, keys_of
from textassay.human.turk_template import turk_files
from textassay.report.console import safe
from textassay.report.human_study import render_import, render_study, tie_advice
from textassay.report.whole_files import write_whole

__all__ = [
    "BuildOptions",
    "check_no_study",
    "print_json",
    "run_build",
    "run_export",
    "run_import",
    "run_judge",
    "study_summary",
]


@dataclass(frozen=True)
class BuildOptions:
    """What the command line asked for; the fields are the options of ``textassay human build``."""

    real: str
    generators: Mapping[str, str]
    out: Path
    page_size: int = 20
    real_per_page: int | None = None
    per_generator: int | None = None
    judgements: int = 5
    check: str | None = None
    no_check: bool = False
    mark_rare: int | None = None
    rare_from: str | None = None
    title: str = "Real or fake?"
    instructions: Path | None = None
    lowercase: bool = False
    normalize: bool = False
    column: str | None = None
    seed: int = 0
    json: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


def run_build(options: BuildOptions) -> int:
    """Build a study, write it, say what is in it, and return 0."""
    check_range("--judgements", options.judgements, 1)
    check_range("--seed", options.seed, 0)
    check_range("--mark-rare", options.mark_rare, 1)
    if options.rare_from is not None and options.mark_rare is None:
        raise OptionError("--rare-from says where words are counted: give --mark-rare N with it")
    if options.no_check and options.check is not None:
        raise OptionError("--check and --no-check cannot go together")
    if not options.title.strip():
        raise OptionError("--title is empty: participants read it on top of every page")
    if options.check is not None and not options.check.strip():
        raise OptionError("--check is the text of the attention check, and empty: give --no-check for none")
    check_no_study(options.out)
    check_sources(options.real, options.generators, {})
    real = _prepared(options, options.real)
    generated = {name: _prepared(options, source) for name, source in options.generators.items()}
    settings: dict[str, Any] = {"lowercase": options.lowercase, "normalize": options.normalize}
    if options.mark_rare is not None:
        counted = None if options.rare_from is None else _prepared(options, options.rare_from)
        marked = mark_rare_words(real, generated, min_count=options.mark_rare, counted=counted)
        real, generated = marked.real, dict(marked.generated)
        settings |= {
            "mark_rare": options.mark_rare,
            "rare_from": "the real text" if counted is None else "another text",
        }
    study = build_study(
        real,
        generated,
        page_size=options.page_size,
        real_per_page=options.real_per_page,
        per_generator=options.per_generator,
        judgements_per_page=options.judgements,
        check_text=None if options.no_check else options.check or CHECK_TEXT,
        title=options.title,
        instructions=_instructions(options.instructions),
        settings=settings,
        seed=options.seed,
    )
    path = save_study(study, options.out)
    for line in [*skipped_blanks(study), *giveaways(study)]:
        print_line(f"note: {line}")
    if options.judgements % 2 == 0:
        print_line(f"note: {tie_advice(options.judgements)}")
    if options.json:
        print_json({"study": str(path), **study_summary(study)})
    else:
        render_study(study, path, Console())
    return 0


def check_no_study(folder: Path) -> None:
    """Raise if there is a study in `folder` already: judgements may belong to it."""
    if (folder / STUDY_FILE).exists():
        raise OutputError(
            f"there is a study in {folder} already, and judgements may belong to it: choose another --out"
        )


def run_export(folder: Path, *, to: str, out: Path | None) -> int:
    """Write what a platform needs for the study in `folder`, name the files, and return 0."""
    study = load_study(folder)
    kinds: dict[str, Callable[[Study], dict[str, str]]] = {
        "mechanical-turk": turk_files,
        "label-studio": label_studio_files,
        "html": lambda study: {"form.html": html_form(study)},
        "csv": lambda study: {"items.csv": _items_csv(study)},
    }
    if to not in kinds:
        raise unknown_name("--to", to, kinds)
    target = (folder if folder.is_dir() else folder.parent) / to if out is None else out
    for path in write_whole(target, kinds[to](study)):
        print(path)
    return 0


def run_import(
    folder: Path,
    files: Sequence[Path],
    *,
    out: Path,
    most_pages: int | None = None,
    json: bool = False,
) -> int:
    """Apply the rules to what was handed in, write judgements and refusals, say what counts, and return 0."""
    study = load_study(folder)
    if len({file.resolve() for file in files}) < len(files):
        raise InputError("a file is named twice: each counts once")
    submissions = [one for file in files for one in read_submissions(file, study)]
    found = accept(study, submissions, most_pages=most_pages)
    judgements = collect(study, found.submissions)
    contents = {"judgements.csv": ratings_csv(judgements), "refused.csv": _refused_csv(found)}
    paths = write_whole(out, contents)
    if json:
        print_json(
            {
                "files": [str(path) for path in paths],
                "accepted": len(found.submissions),
                "judgements": len(judgements),
                "raters": len(judgements.raters),
                "refused": [
                    {"place": one.submission.place, "page": one.submission.page, "rater": one.submission.rater}
                    | {"reason": one.reason}
                    for one in found.refusals
                ],
                "open_pages": dict(found.open_pages),
            }
        )
    else:
        render_import(found, judgements, paths, Console())
    return 0


def run_judge(folder: Path, *, rater: str, out: Path, pages: int = 1) -> int:
    """Let one rater judge in the terminal, and return 0."""
    check_range("--pages", pages, 1)
    study = load_study(folder)
    session = TerminalSession(study, rater, out)
    console = Console(stderr=True)
    if session.next_page() is None:
        print_line(f"{session.rater} has judged every page of this study")
        return 0
    for text in (study.title, *study.instructions.split("\n\n")):
        console.print(safe(console, text))
        console.print()

    def show(page: StudyPage, place: int) -> None:
        item = page.items[place]
        console.rule(f"{place + 1} of {len(page.items)}")
        console.print(safe(console, item.text))
        keys = "   ".join(f"{key}: {word}" for key, (_, word) in keys_of(item).items())
        console.print(safe(console, f"{keys}   {BACK}: back   {QUIT}: stop", "dim"))

    done = judge_pages(session, n_pages=pages, show=show, read_key=_read_key)
    print_line(f"{'done' if done else 'stopped; run the same command to continue'}; answers are in {out}")
    return 0


def _read_key() -> str:
    """Return the next key, or where nobody types the first letter of the next line; nothing at the end."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.strip().lower()[:1] or ("" if not line else " ")
    from typer import getchar

    key = getchar()
    return "" if key in ("\x04", "\x1a") else key.lower()


def _prepared(options: BuildOptions, source: str) -> Sequence[str]:
    texts: Sequence[str] = read_texts(source, column=options.column).texts
    if options.normalize:
        return [normalize(text) for text in texts]
    return [text.lower() for text in texts] if options.lowercase else texts


def _instructions(path: Path | None) -> str | None:
    if path is None:
        return None
    text = "\n".join(read_texts(path).texts).strip()
    if not text:
        raise InputError(f"{path} is blank: write the instructions for participants")
    return text


def study_summary(study: Study) -> dict[str, Any]:
    """Return what there is to say of `study`, JSON-ready."""
    return {
        "kind": study.kind,
        "pages": len(study.pages),
        "items": sum(not item.check for item in study.items),
        "checks": sum(item.check for item in study.items),
        "judgements_per_page": study.judgements_per_page,
        "seed": study.seed,
        "settings": dict(study.settings),
    }


def _items_csv(study: Study) -> str:
    """Return all items without who wrote them, in order: what another program needs to show them."""
    rows = []
    for page in study.pages:
        for item in page.items:
            choices = json.dumps([*item.choices, NONE_OF_THEM], ensure_ascii=False) if item.choices else ""
            rows.append((page.id, item.id, item.text, " ".join(item.labels), choices))
    return csv_text(("page", "item", "text", "labels", "choices"), rows)


def _refused_csv(found: Accepted) -> str:
    rows = ((one.submission.page, one.submission.rater, one.reason, one.submission.place) for one in found.refusals)
    return csv_text(("page", "rater", "reason", "place"), rows)


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document."""
    json.dump(document, sys.stdout, indent=1, allow_nan=False)
    print()
