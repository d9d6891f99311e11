"""Read judgements and submissions from a file in any supported format, or from the folder of a study."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from textassay.corpus.paths import listed
from textassay.corpus.source import nearest_files
from textassay.errors import InputError, OptionError
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.label_studio import is_label_studio, read_label_studio, read_label_studio_submissions
from textassay_lab.human.mechanical_turk import is_batch, read_batch, read_mechanical_turk, read_turk_submissions
from textassay_lab.human.ratings_file import COLUMNS, is_ratings, judged_by_columns, read_ratings
from textassay_lab.human.reading import read_columns, read_table
from textassay_lab.human.study import STUDY_FILE, Kind, Study, load_study
from textassay_lab.human.submissions import Submission, failed_checks, read_answers


def read_judgements(path: Path) -> Judgements:
    """Return the judgements of a long CSV file, Mechanical Turk's batch results or Label Studio's JSON."""
    _check_file(path)
    if is_label_studio(path):
        return read_label_studio(path)
    columns = read_columns(path)
    if is_batch(columns):
        return read_mechanical_turk(path)
    if is_ratings(columns):
        return read_ratings(path)
    raise _unknown(path)


def read_submissions(path: Path, study: Study) -> list[Submission]:
    """Return the submissions for `study`: raw answers, or results of its exports to other platforms."""
    _check_file(path)
    if is_label_studio(path):
        return read_label_studio_submissions(path, study)
    columns = read_columns(path)
    if is_batch(columns):
        return read_turk_submissions(path, study)
    if is_ratings(columns):
        return read_answers(path, study)
    raise _unknown(path)


def _check_file(path: Path) -> None:
    if not path.is_file():
        problem = "is a folder: give a file in it" if path.is_dir() else f"does not exist{nearest_files(path)}"
        raise InputError(f"{path} {problem}")


def _unknown(path: Path) -> InputError:
    columns = read_columns(path)
    return InputError(
        judged_by_columns(path, columns)
        or (
            f"{path} contains no judgements. Give a CSV file with columns {','.join(COLUMNS[:3])}, batch results of "
            "Mechanical Turk, or JSON of Label Studio. Or name the columns of any table: textassay judge --ratings "
            f"{path.name} --text-column NAME --system-column NAME --rating-column NAME. The file has: "
            f"{listed(columns)}"
        )
    )


JUDGEMENTS_FILE = "judgements.csv"
_TIME = "WorkTimeInSeconds"


@dataclass(frozen=True)
class Results:
    """Judgements, with times and attention checks of their raters."""

    judgements: Judgements
    seconds: Mapping[str, float]  # Rater to mean seconds per judgement, if known
    # Rater to numbers of failed and of answered attention checks, on all pages, also those that do not count
    checks: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def read_results(path: Path, *, database: str | None = None, kind: Kind = "real-or-fake") -> Results:
    if not path.is_dir():
        if database is not None:
            raise OptionError(f"--database needs the folder of a study, got {path}")
        judgements = read_judgements(path)
        if _is_turk(path):
            study, submissions = read_batch(path)
            return Results(judgements, _turk_seconds(path, judgements), _checks(study, submissions))
        return Results(judgements, {})
    if not (path / STUDY_FILE).is_file():
        if (path / JUDGEMENTS_FILE).is_file() and database is None:
            return read_results(path / JUDGEMENTS_FILE)
        raise InputError(f"{path} contains neither {STUDY_FILE} nor {JUDGEMENTS_FILE}")
    study = load_study(path)
    if study.kind != kind:
        command = "analyse" if study.kind == "real-or-fake" else "exposure"
        raise InputError(f"the study in {path} is a {study.kind} task: analyse it with 'textassay human {command}'")
    from textassay_lab.human.server.database import DATABASE_FILE, database_url, open_database
    from textassay_lab.human.server.results import check_same_study, read_submitted, to_judgements

    if database is None and not (path / DATABASE_FILE).is_file():
        if (path / JUDGEMENTS_FILE).is_file():
            return read_results(path / JUDGEMENTS_FILE)
        raise InputError(f"nobody has judged the study in {path} yet: run 'textassay human serve {path}'")
    with open_database(database or database_url(path), may_be_new=False) as opened:
        opened.run_now(lambda connection: check_same_study(connection, study))
        rows = opened.run_now(read_submitted)
    times = ((row.submission.rater, row.at - row.taken, len(row.submission.answers)) for row in rows if row.is_accepted)
    return Results(to_judgements(study, rows), _mean_seconds(times), _checks(study, [row.submission for row in rows]))


def _is_turk(path: Path) -> bool:
    return not is_label_studio(path) and is_batch(read_columns(path))


def _turk_seconds(path: Path, judgements: Judgements) -> dict[str, float]:
    if _TIME not in read_columns(path):
        return {}
    raters, times = set(judgements.raters), []
    for row in read_table(path, (_TIME,)):
        seconds, rater = row.values[_TIME].strip(), row.values["WorkerId"]
        if seconds.isascii() and seconds.isdigit() and rater in raters and row.values["AssignmentStatus"] != "Rejected":
            answers = (text for name, text in row.values.items() if name.startswith("Answer.review_"))
            n = sum(text.lower() not in ("", "false") for text in answers)  # crowd forms have a column for each label
            times.append((rater, float(seconds), n))
    return _mean_seconds(times)


def _mean_seconds(times: Iterable[tuple[str, float, int]]) -> dict[str, float]:
    """Return the mean seconds per judgement of each rater, from (rater, seconds, judgements)."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for rater, seconds, n in times:
        sums[rater][0] += seconds
        sums[rater][1] += n
    return {rater: seconds / n for rater, (seconds, n) in sums.items() if n and seconds >= 0}


def _checks(study: Study, submissions: Iterable[Submission]) -> dict[str, tuple[int, int]]:
    """Return rater to numbers of failed and of answered attention checks, without rejected submissions."""
    pages = {page.id: page for page in study.pages}
    checks: dict[str, tuple[int, int]] = {}
    for one in submissions:
        n_checks = sum(item.check for item in pages[one.page].items)
        if n_checks and not one.is_rejected:
            n_failed, n_before = checks.get(one.rater, (0, 0))
            n_failed += len(failed_checks(pages[one.page], one.answers))
            checks[one.rater] = n_failed, n_before + n_checks
    return checks
