"""The experiment: what is drawn and from where; both studies to the end (slow)."""

import shutil
from pathlib import Path

import pytest

from made_up import sentences
from textassay.corpus.docstrings import docstring_sentences
from textassay.errors import OptionError
from textassay.execution.threads import workers
from textassay.report.files import document_files
from textassay.seeding import stream
from textassay.storage import write_files
from textassay_lab.papers.dd.experiment import DD_PAPER, EXACT, split_text
from textassay_lab.papers.dd.results import DdStudy
from textassay_lab.papers.document import reproduction_document
from textassay_lab.papers.paper import Network, Scale
from textassay_lab.papers.reproduction import Reproduction
from textassay_lab.papers.training import load_draws

MICRO = DD_PAPER.scales["tiny"].but(
    name="micro", n_train=120, n_drawn_train=100, n_valid=12, n_test=30, n_class=40, fractions=(0.5, 1.0),
    networks=dict.fromkeys(("LSTM", "GPT-2"), Network("tiny")), original=Network("tiny"), min_count=1,
)  # fmt: skip


def study(name: str, folder: Path, scale: Scale = MICRO, *, initialisations: int | None = None) -> DdStudy:
    text = split_text(sentences(340, 1), None, None, scale)
    return DdStudy(name, text, scale, folder, initialisations=initialisations)


@pytest.mark.feature("DD-13", "DD-14")
def test_every_set_is_drawn_in_full_and_apart_from_the_others(tmp_path: Path) -> None:
    made = study("dd-synthetic", tmp_path)
    n_computed = made.compute(["sample-original", "sample"])
    assert n_computed == 1 + 5 + 4 + 4 * 5  # the original, its sets, the generators, their sets at five temperatures
    form, texts = made.text.form, made.texts
    sets = {}
    for part in (texts.train, texts.valid, texts.test, texts.unseen, texts.more):
        assert part is not None
        assert part.stage is not None
        sets[f"original {part.file}"] = load_draws(made.stages.folder_of(part.stage) / f"{part.file}.npz", form)
    drawn = {name: made.experiment.measuring[name, 0, 1.0][0].inputs[0] for name in made.experiment.generators}
    for name, stage in drawn.items():
        for file in ("class", "valid", "test"):
            sets[f"{name} {file}"] = load_draws(made.stages.folder_of(stage) / f"{file}.npz", form)
    sizes = {"train": 100, "valid": 12, "test": 30, "class": 40, "unseen": 70, "more": 70}
    for name, corpus in sets.items():
        assert len(corpus) == sizes[name.split()[-1]], name
        assert corpus.lengths.max() <= made.text.longest
        assert corpus.tokens.min() > 2, "no token of the models' own"
        assert corpus.vocabulary is form.vocabulary
    beginnings = [tuple(corpus.texts[:12]) for corpus in sets.values()]
    assert len(set(beginnings)) == len(beginnings), "two sets are the same draws"
    again = study("dd-synthetic", tmp_path)
    assert again.compute(["sample"]) == 0
    assert again.compute(["exact"]) == 4


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    found = []
    for n_workers in (1, 2):
        made = study("dd-real", tmp_path / str(n_workers))
        with workers(n_workers):
            made.compute(["likelihood"])
        stages = [stage for stage in made.all_stages() if stage.kind == "likelihood"]
        found.append([done.result for stage in stages if (done := made.stages.done(stage)) is not None])
    assert found[0] == found[1]
    assert len(found[0]) == 4 * 5 + 2


@pytest.mark.slow
def test_a_study_on_real_text_is_computed_in_pieces_between_which_no_model_passes(tmp_path: Path) -> None:
    """As `docs/studies/index.md` says: a generator a piece, then a judge a piece, without the models of the others."""
    generators = [f"{family}_{fraction:.1f}" for family in ("LSTM", "GPT-2") for fraction in (0.5, 1.0)]
    pieces = [[f"{kind} {name}*" for kind in ("own-likelihood", "overlap", "cnn", "dd")] for name in generators]
    pieces += [["overlap (real)", "dd (real)"], ["likelihood *LSTM*"], ["likelihood *GPT-2*"]]
    n_trained = 0
    for piece in pieces:
        made = study("dd-real", tmp_path, initialisations=1)
        missing = {stage.key for stage in made.all_stages() if made.stages.done(stage, whole=False) is None}
        made.compute(piece)
        trained = [
            stage for stage in made.all_stages() if stage.kind == "train" and made.stages.done(stage) is not None
        ]
        assert all(stage.key in missing for stage in trained)
        n_trained += len(trained)
        for stage in trained:
            shutil.rmtree(made.stages.folder_of(stage) / "model")
    assert n_trained == len(generators) + 2
    made = study("dd-real", tmp_path, initialisations=1)
    assert made.compute() == 0
    assert values(made.result(), "DD").keys() == set(generators)
    with pytest.raises(OptionError, match=r"unknown stage 'train LSTM_0\.7'"):
        made.compute(["train LSTM_0.7"])


def values(found: Reproduction, column: str) -> dict[str, float]:
    (table,) = [table for table in found.tables if table.id == "measured"]
    return {cell.row: cell.ours for cell in table.cells if cell.column == column and cell.ours is not None}


@pytest.mark.slow
@pytest.mark.feature("DD-19", "DD-20", "DD-24")
def test_both_tiny_studies_run_to_the_end_and_put_generators_in_order(tmp_path: Path) -> None:
    texts = docstring_sentences()
    order = stream(0, "study", "docstrings").permutation(len(texts))  # as the command has it
    scale = DD_PAPER.scales["tiny"]
    text = split_text([texts[place] for place in order.tolist()], None, None, scale)
    for name in ("dd-synthetic", "dd-real"):
        made = DdStudy(name, text, scale, tmp_path)
        with workers(2):
            made.compute()
        assert DdStudy(name, text, scale, tmp_path).compute() == 0
        found = made.result()
        written = write_files(tmp_path / name, document_files(reproduction_document(found), stem="study"))
        assert {"study.html", "study.md", "study.csv"} <= {path.name for path in written}
        assert [figure.name for figure in found.figures] == ["sweep-bleu", "sweep-lm", "sweep-fed"]
        for dd in ("DD", "our DD, unseen text"):
            of_dd = values(found, dd)
            for family in ("LSTM", "GPT-2"):
                rising = [of_dd[f"{family}_{fraction:.1f}"] for fraction in scale.fractions]
                assert rising == sorted(rising, reverse=True), (dd, family)
        taus = {
            (cell.row, cell.column): cell.ours
            for table in found.tables
            for cell in table.cells
            if table.id == "table 5"
        }
        if name == "dd-synthetic":
            exact = values(found, EXACT)
            for family in ("LSTM", "GPT-2"):
                rising = [exact[f"{family}_{fraction:.1f}"] for fraction in scale.fractions]
                assert rising == sorted(rising, reverse=True)
            for dd in ("DD", "our DD, unseen text"):
                tau = taus[dd, "all 6"]
                assert tau is not None
                assert tau >= 0.8
            above = [finding for finding in found.findings if finding.id == "I3"]
            assert len(above) == 2
            assert {finding.verdict for finding in above} == {"holds"}
        assert abs(values(found, "our DD, unseen text")["(real)"]) < 0.06


@pytest.mark.slow
def test_several_initialisations_give_spreads_and_networks_the_reverse_score(tmp_path: Path) -> None:
    scale = MICRO.but(reverse_network=True)
    made = study("dd-real", tmp_path, scale, initialisations=2)
    made.compute()
    found = made.result()
    (table,) = [table for table in found.tables if table.id == "table 7"]
    spreads = [cell.spread for cell in table.cells if cell.row == "LSTM_1.0" and cell.ours is not None]
    assert len(spreads) == 6
    assert all(spread is not None and spread >= 0 for spread in spreads)
    assert set(values(found, "reverse LM score")) == {"LSTM_0.5", "LSTM_1.0", "GPT-2_0.5", "GPT-2_1.0"}
