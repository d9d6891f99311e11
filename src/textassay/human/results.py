"""Results wherever they are, a file or the folder of a study, with the time that raters took where it is known."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from textassay.errors import InputError, OptionError
from textassay.human.files import read_judgements
from textassay.human.judgements import Judgements
from textassay.human.mechanical_turk import is_batch
from textassay.human.study import STUDY_FILE, Kind, load_study
from textassay.human.table_file import read_columns, read_table

__all__ = ["JUDGEMENTS_FILE", "Results", "read_results"]

JUDGEMENTS_FILE = "judgements.csv"
_TIME = "WorkTimeInSeconds"


@dataclass(frozen=True)
class Results:
    """Judgements, and how many seconds one took each rater on average; raters without a known time are missing."""

    judgements: Judgements
    seconds: Mapping[str, float]


def read_results(path: Path, *, database: str | None = None, kind: Kind = "real-or-fake") -> Results:
    """Return what people said.

    Parameters
    ----------
    path
        A long CSV file, batch results of Mechanical Turk, JSON of Label Studio; or the folder of a study: what its
        server has collected so far or, where it never ran, the `JUDGEMENTS_FILE` in the folder.
    database
        Of the server, if it is not in the folder.
    kind
        Of study that the results must be of, where they are those of a folder.

    Raises
    ------
    InputError
        If there are no results, they are damaged, or they are of the other kind of study.
    """
    if not path.is_dir():
        if database is not None:
            raise OptionError(f"--database goes with the folder of a study, and {path} is none")
        judgements = read_judgements(path)
        return Results(judgements, _turk_seconds(path, judgements))
    if not (path / STUDY_FILE).is_file():
        if (path / JUDGEMENTS_FILE).is_file() and database is None:
            return read_results(path / JUDGEMENTS_FILE)
        raise InputError(f"{path} holds neither {STUDY_FILE} nor {JUDGEMENTS_FILE}")
    study = load_study(path)
    if study.kind != kind:
        command = "analyse" if study.kind == "real-or-fake" else "exposure"
        raise InputError(f"the study in {path} is a {study.kind} task: 'textassay human {command}' says what it found")
    from textassay.human.server.database import DATABASE_FILE, database_url, open_database
    from textassay.human.server.results import check_same_study, read_handed_in, to_judgements

    if database is None and not (path / DATABASE_FILE).is_file():
        if (path / JUDGEMENTS_FILE).is_file():
            return read_results(path / JUDGEMENTS_FILE)
        raise InputError(f"nobody has judged the study in {path} yet: run 'textassay human serve {path}'")
    with open_database(database or database_url(path), may_be_new=False) as opened:
        opened.run_now(lambda connection: check_same_study(connection, study))
        rows = opened.run_now(read_handed_in)
    times = ((row.submission.rater, row.at - row.taken, len(row.submission.answers)) for row in rows if row.is_accepted)
    return Results(to_judgements(study, rows), _mean_seconds(times))


def _turk_seconds(path: Path, judgements: Judgements) -> dict[str, float]:
    if path.name.lower().removesuffix(".gz").endswith(".json"):
        return {}
    columns = read_columns(path)
    if not is_batch(columns) or _TIME not in columns:
        return {}
    raters, times = set(judgements.raters), []
    for row in read_table(path, (_TIME,)):
        seconds, rater = row.values[_TIME].strip(), row.values["WorkerId"]
        if seconds.isascii() and seconds.isdigit() and rater in raters and row.values["AssignmentStatus"] != "Rejected":
            given = (text for name, text in row.values.items() if name.startswith("Answer.review_"))
            n = sum(text.lower() not in ("", "false") for text in given)  # crowd forms have a column for each label
            times.append((rater, float(seconds), n))
    return _mean_seconds(times)


def _mean_seconds(times: Iterable[tuple[str, float, int]]) -> dict[str, float]:
    """Return the mean time of a judgement of each rater, from (rater, seconds, judgements)."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for rater, seconds, n in times:
        sums[rater][0] += seconds
        sums[rater][1] += n
    return {rater: seconds / n for rater, (seconds, n) in sums.items() if n and seconds > 0}
