"""Read files of judgements in any supported format, recognised by ending and columns."""

from pathlib import Path

from textassay.corpus.source import nearest_files
from textassay.errors import InputError
from textassay_lab.human.acceptance import Submission
from textassay_lab.human.answers_file import read_answers
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.label_studio import read_label_studio, read_label_studio_submissions
from textassay_lab.human.mechanical_turk import is_batch, read_mechanical_turk, read_turk_submissions
from textassay_lab.human.ratings_file import COLUMNS, is_ratings, read_ratings
from textassay_lab.human.study import Study
from textassay_lab.human.table_file import read_columns


def read_judgements(path: Path) -> Judgements:
    """Return the judgements of a long CSV file, Mechanical Turk's batch results or Label Studio's JSON."""
    _check_file(path)
    if _is_json(path):
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
    if _is_json(path):
        return read_label_studio_submissions(path, study)
    columns = read_columns(path)
    if is_batch(columns):
        return read_turk_submissions(path, study)
    if is_ratings(columns):
        return read_answers(path, study)
    raise _unknown(path)


def _check_file(path: Path) -> None:
    if not path.is_file():
        problem = "is a folder: name the file in it" if path.is_dir() else f"does not exist{nearest_files(path)}"
        raise InputError(f"{path} {problem}")


def _is_json(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(".json")


def _unknown(path: Path) -> InputError:
    return InputError(
        f"{path} holds no judgements: give a CSV file with columns {','.join(COLUMNS[:3])}, batch results of "
        "Mechanical Turk, or JSON of Label Studio"
    )
