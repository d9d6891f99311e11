"""The study of generators from its stages to its files, on made-up writers; nothing is trained."""

import json
from pathlib import Path

import pytest

from made_up import sentences
from made_up_generators import WRITERS, made_up_generators
from textassay.errors import OptionError
from textassay.execution.threads import workers
from textassay.report.files import document_files
from textassay.report.reproduction import reproduction_document
from textassay.storage import write_files
from textassay_lab.meta_evaluation.reproduction import ReproducedTable, Reproduction
from textassay_lab.papers.generators import results as generators_study
from textassay_lab.papers.generators.experiment import DD
from textassay_lab.papers.generators.results import GeneratorsStudy
from textassay_lab.papers.generators.texts import FLOOR, GENERATORS_SCALES, OTHER_DOMAIN, GeneratorsTexts
from textassay_lab.papers.judges.published import published_table
from whose_values import assert_nothing_published_is_ours

pytestmark = pytest.mark.slow  # eight writers, measured by every evaluator
N = 60


def made(folder: Path) -> GeneratorsStudy:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generators_study, "build_generators", lambda *given, **settings: made_up_generators(N))
        texts = GeneratorsTexts(train=(), valid=(), real=(), floor=(), contexts=())
        return GeneratorsStudy(texts, GENERATORS_SCALES["tiny"], folder, n_resamples=100)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[GeneratorsStudy, Reproduction]:
    study = made(tmp_path_factory.mktemp("generators"))
    with workers(2):
        assert study.compute(["draw"]) == 2 * len(WRITERS)
        study.compute()
    return study, study.result()


def table(result: Reproduction, name: str) -> ReproducedTable:
    return next(one for one in result.tables if one.id == name)


def cells(result: Reproduction, name: str) -> dict[tuple[str, str], float | None]:
    return {(cell.row, cell.column): cell.ours for cell in table(result, name).cells}


def test_one_table_has_all_writers_and_the_closest_first(found: tuple[GeneratorsStudy, Reproduction]) -> None:
    _, result = found
    everything = table(result, "all evaluators")
    assert set(everything.rows) == {FLOOR, *WRITERS}
    dd = [cell.ours for cell in everything.cells if cell.column == DD]
    assert dd == sorted(dd, key=lambda value: value or 0.0)
    ranks = cells(result, "ranks")
    n = len(WRITERS) + 1
    for column in table(result, "ranks").columns:
        assert sum(ranks[row, column] or 0 for row in (FLOOR, *WRITERS)) == n * (n + 1) / 2
    taus = cells(result, "evaluators among one another")
    assert all(taus[row, column] == taus[column, row] for row, column in taus)
    assert taus[DD, DD] == 1


def test_published_numbers_stand_beside_ours_where_names_match(found: tuple[GeneratorsStudy, Reproduction]) -> None:
    _, result = found
    for name in ("table 4", "table 6", "table 9", "figures 4 and 10"):
        printed = published_table(name)
        both = {cell.row for cell in table(result, name).cells if cell.ours is not None and cell.published is not None}
        assert both - {"(all)", "(real)", "(generated)"} == set(WRITERS) & set(printed.rows)
    svm = next(c for c in table(result, "table 4").cells if (c.row, c.column) == ("SeqGAN", "SVM"))
    assert svm.published == 56.2
    everything = cells(result, "all evaluators")
    assert svm.ours == pytest.approx(100 * (everything["SeqGAN", "SVM"] or 0.0))


def test_costs(found: tuple[GeneratorsStudy, Reproduction]) -> None:
    _, result = found
    costs = table(result, "costs")
    of_costs = {(cell.row, cell.column): cell.ours for cell in costs.cells}
    assert of_costs["SeqGAN", "seconds per 1,000 draws"] == pytest.approx(500 / N)
    assert of_costs[OTHER_DOMAIN, "sentences seen"] == 400
    assert "Word LSTM 0.7 and Word LSTM 0.5: the model of Word LSTM 1.0." in costs.note
    assert "SeqGAN: it forgot its words." in costs.note


def test_findings_stand_together(found: tuple[GeneratorsStudy, Reproduction]) -> None:
    _, result = found
    ids = [one.id for one in result.findings]
    assert ids == sorted(ids, key=list(dict.fromkeys(ids)).index)
    verdicts = {(one.id, one.about): one.verdict for one in result.findings}
    assert {about for name, about in verdicts if name == "G6"} == {"the published numbers", "our run"}
    assert verdicts["G6", "our run"] == "holds"
    assert ids[-1] == "O1"


def test_nothing_published_is_called_ours(found: tuple[GeneratorsStudy, Reproduction]) -> None:
    assert_nothing_published_is_ours(found[0].result)


def test_files_hold_no_sentence_and_come_back(found: tuple[GeneratorsStudy, Reproduction], tmp_path: Path) -> None:
    _, result = found
    assert Reproduction.from_dict(json.loads(json.dumps(result.to_dict()))) == Reproduction.from_dict(result.to_dict())
    written = write_files(tmp_path, document_files(reproduction_document(result), stem="study"))
    names = {path.name for path in written}
    assert {"dd.svg", "ranks.svg", "overlap-and-classifiers.svg"} <= names
    words = {word for line in sentences(2 * N, 4) for word in line.split() if len(word) > 4}
    contents = "".join(path.read_text(encoding="utf-8") for path in written)
    assert not [word for word in words if f" {word} " in contents]


def test_the_same_again_computes_nothing(found: tuple[GeneratorsStudy, Reproduction]) -> None:
    study, _ = found
    again = made(study.stages.folder_of(study.all_stages()[0]).parents[1])
    assert again.compute() == 0
    with pytest.raises(OptionError, match="unknown stage 'classifiers': did you mean classifier"):
        again.compute(["classifiers"])
