"""Which sentences every network, metric and classifier of the studies is given: trained on one part, judged on another.

N-gram models stand in for the networks, so that both studies run to the end within seconds; what is handed over is
recorded, and named afterwards by the part it is.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up import sentences
from textassay.corpus.corpus import Corpus
from textassay.discriminator.logistic import LogisticDiscriminator
from textassay.estimate import Estimate
from textassay.ngram.model import NgramModel
from textassay_lab.papers import training
from textassay_lab.papers.dd import experiment
from textassay_lab.papers.dd.experiment import DD_PAPER, TEMPERATURES, exact_estimate, measured, model_cost, split_text
from textassay_lab.papers.dd.held_out import held_out_dd
from textassay_lab.papers.dd.results import STUDIES, DdStudy
from textassay_lab.papers.paper import Network
from textassay_lab.papers.training import load_draws
from whose_values import assert_nothing_published_is_ours

N_CLASS = 40
SCALE = DD_PAPER.scales["tiny"].but(
    name="micro", n_train=120, n_drawn_train=100, n_valid=12, n_test=30, n_class=N_CLASS, fractions=(0.5, 1.0),
    networks=dict.fromkeys(("LSTM", "GPT-2"), Network("tiny")), original=Network("tiny"), reverse_network=True,
    min_count=1, initialisations=2,
)  # fmt: skip
NAMES = ("LSTM_0.5", "LSTM_1.0", "GPT-2_0.5", "GPT-2_1.0")


class Seen:
    """What was given to whom, and the seeds of all trainings."""

    def __init__(self) -> None:
        self.seeds: list[int] = []
        self.fits: list[tuple[Corpus, Corpus]] = []
        self.judged: list[list[Corpus]] = []  # by the paper's classifier: training, validation, test; real, generated
        self.measured: list[tuple[dict[str, Estimate], Corpus, Corpus]] = []  # generated, real
        self.costs: list[tuple[str, str, Corpus, float]] = []
        self.exact: list[tuple[str, str, Corpus, Corpus]] = []


def fingerprint(model: NgramModel) -> str:
    """Return that of the text a model learnt."""
    return str(model.record["train"]["fingerprint"])


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Return what records; n-gram models stand in for networks, a quick classifier for the paper's."""
    record = Seen()

    class StandIn(NgramModel):
        def fit(self, train: Corpus, valid: Corpus | None = None, **_: Any) -> "StandIn":
            assert valid is not None
            record.fits.append((train, valid))
            return super().fit(train)

    def make(kind: str, *, seed: int, max_length: int, **_: Any) -> NgramModel:
        record.seeds.append(seed)
        return StandIn(2, max_length=max_length)

    def judge(_: object, train: Any, valid: Any, test: Any, **settings: Any) -> Any:
        record.judged.append([*train, *valid, *test])
        found = held_out_dd(LogisticDiscriminator(), train, valid, test, **settings)
        return replace(found, details={**found.details, "chosen": {"n_parameters": 1}})

    def measure(metrics: Any, generated: Corpus, real: Corpus, *, seed: int) -> Any:
        found = measured(metrics, generated, real, seed=seed)
        record.measured.append((found, generated, real))
        return found

    def cost(name: str, model: Any, scored: Corpus, other: Corpus, **settings: Any) -> Any:
        found = model_cost(name, model, scored, other, **settings)
        record.costs.append((name, fingerprint(model), scored, found.value))
        return found

    def exact(original: Any, model: Any, real: Corpus, generated: Corpus, **settings: Any) -> Any:
        record.exact.append((fingerprint(original), fingerprint(model), real, generated))
        return exact_estimate(original, model, real, generated, **settings)

    monkeypatch.setattr(training, "make_generator", make)
    for name, stand_in in (
        ("held_out_dd", judge), ("measured", measure), ("model_cost", cost), ("exact_estimate", exact)
    ):  # fmt: skip
        monkeypatch.setattr(experiment, name, stand_in)
    return record


def parts(study: DdStudy) -> dict[str, Corpus]:
    """Return name to sentences of all parts there are, given or drawn."""
    form, texts = study.text.form, study.texts

    def drawn(stage: Any, file: str) -> Corpus:
        return load_draws(study.stages.folder_of(stage) / f"{file}.npz", form)

    found = {}
    for name in ("train", "valid", "test", "unseen", "more"):
        part = getattr(texts, name)
        found[name] = drawn(part.stage, part.file) if part.corpus is None else part.corpus
    found["half"] = found["train"].take(np.arange(len(found["train"]) // 2))
    found["floor"] = found["more"].take(np.arange(SCALE.n_test))
    if texts.original is not None:
        found |= {f"real {name}": getattr(study.text, name).corpus for name in ("train", "valid")}
    for stage in study.all_stages():
        if stage.kind == "sample":
            found |= {f"{stage.name} {file}": drawn(stage, file) for file in stage.settings["counts"]}
    return found


def is_part_of(some: Corpus, whole: Corpus) -> bool:
    return not Counter(some.texts) - Counter(whole.texts)


@pytest.mark.slow
@pytest.mark.feature("DD-12", "DD-17", "DD-23")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["dd-real", pytest.param("dd-synthetic", marks=pytest.mark.slow)])
def test_everything_learns_from_one_part_and_is_judged_on_another(name: str, tmp_path: Path, seen: Seen) -> None:
    pytest.importorskip("torch")
    study = DdStudy(name, split_text(sentences(340, 1), None, None, SCALE), SCALE, tmp_path)
    study.compute()
    found = parts(study)
    called = {corpus.fingerprint: part for part, corpus in found.items()}
    assert len(called) == len(found), "two parts are the same sentences"
    whole = {"LSTM_0.5": "half", "LSTM_1.0": "train", "GPT-2_0.5": "half", "GPT-2_1.0": "train"}
    whole |= {f"{n} initialisation 2": part for n, part in whole.items()}
    swept = [f"{n} T={t:g}" for n in NAMES for t in TEMPERATURES if t != 1]

    # Networks: generators twice, a judge a family, one of the draws of each at each temperature, what writes the text.
    fits = Counter((called[train.fingerprint], called[valid.fingerprint]) for train, valid in seen.fits)
    expected = Counter(
        {("half", "valid"): 4, ("train", "valid"): 4 + 2, **{(f"{n} class", "valid"): 1 for n in (*NAMES, *swept)}}
    )
    if name == "dd-synthetic":
        expected["real train", "real valid"] = 1
    assert fits == expected
    assert len(set(seen.seeds)) == len(seen.seeds), "two trainings share a seed"

    # The paper's classifier: each generator against training text.
    judged = []
    for real, generated, *others in seen.judged:
        assert is_part_of(real, found["train"])
        assert len(real) == len(generated) == N_CLASS
        generator, file = called[generated.fingerprint].rsplit(" ", 1)
        assert file == "class"
        assert [called[corpus.fingerprint] for corpus in others] == [
            "valid", f"{generator} valid", "test", f"{generator} test"
        ]  # fmt: skip
        judged.append(generator)
    assert sorted(judged) == sorted(whole)

    # Our classifier and the metrics.
    ours, overlap = [], []
    bleu = {}
    for estimates, generated, real in seen.measured:
        if len(estimates) > 1:
            overlap.append((called[generated.fingerprint], called[real.fingerprint]))
            bleu[overlap[-1][0]] = estimates["BLEU-3"].value
        elif called.get(generated.fingerprint) == "more":
            ours.append(("(real)", called[real.fingerprint]))
        else:
            assert is_part_of(real, found["unseen"])
            (generator,) = [
                n for n in whole if generated.texts == (*found[f"{n} class"].texts, *found[f"{n} test"].texts)
            ]
            assert len(real) == len(generated) == N_CLASS + SCALE.n_test
            ours.append((generator, "unseen"))
    assert sorted(ours) == sorted((name, "unseen") for name in ("(real)", *whole))
    tests = [f"{n} test" for n in (*whole, *swept)]
    assert sorted(overlap) == sorted((part, "test") for part in (*tests, "floor"))

    # Costs under the judge, under the generator itself, and of real text under models of drawn text.
    costs = {(metric, called[model], called[scored.fingerprint]): value for metric, model, scored, value in seen.costs}
    of_judge = [("LM score", "train", part) for part in (*tests, "floor")]
    of_own = [("LM score (own model)", whole[part.split()[0]], part) for part in tests]
    reverse = [("reverse LM score", f"{n} class", "test") for n in (*NAMES, *swept)]
    assert set(costs) == {*of_judge, *of_own, *reverse}
    assert len(seen.costs) == 1 + len(costs)  # real text under the judge of each family
    for n in NAMES:
        cold, hot = (costs["LM score (own model)", whole[n], f"{n} T={temperature} test"] for temperature in (0.8, 1.2))
        assert hot > cold + 0.1

    exact = [(called[p], called[q], *(called[c.fingerprint] for c in draws)) for p, q, *draws in seen.exact]
    synthetic = [("real train", whole[n], "test", f"{n} test") for n in whole] if name == "dd-synthetic" else []
    assert sorted(exact) == sorted(synthetic)

    assert_nothing_published_is_ours(study.result)

    # What is reported of it: validation by validation text, means and spreads over both trainings.
    tables = {table.id: {(cell.row, cell.column): cell for cell in table.cells} for table in study.result().tables}
    if name == "dd-real":
        of_both = [bleu["LSTM_0.5 test"], bleu["LSTM_0.5 initialisation 2 test"]]
        cell = tables["table 7"]["LSTM_0.5", "BLEU-3"]
        assert (cell.ours, cell.spread) == pytest.approx((np.mean(of_both), np.std(of_both, ddof=1)))
        assert cell.spread
    found_by_cnn = study.measurements()
    runs = found_by_cnn.values(STUDIES[name]).values["valid DD"]
    assert len(runs) == 2
    for number, of_valid in enumerate(runs):
        estimates = found_by_cnn.runs("DD")[number]
        told = [estimates[generator].details["validation"]["value"] for generator in of_valid.generators]
        assert of_valid.values.tolist() == told != [estimates[g].value for g in of_valid.generators]
    of_two = tables["measured"]["LSTM_0.5", "DD"]
    values = [found_by_cnn.runs("DD")[number]["LSTM_0.5"].value for number in (0, 1)]
    assert (of_two.ours, of_two.spread) == pytest.approx((np.mean(values), np.std(values, ddof=1)))
    assert of_two.low is not None
    assert of_two.high is not None
    assert of_two.low < np.mean(values) < of_two.high
    sweep = study.result().figures[1]
    assert sweep.name == "sweep-lm"
    assert sweep.description.startswith("reverse LM score against LM score")
