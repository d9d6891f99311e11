"""What is sent to a cluster and what comes back, with a stand-in for Ray that runs each task at once, in this process.

`test_cluster` has the same on real nodes.
"""

import sys
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up import sentences, shuffled
from textassay.comparison.run import compare
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import MissingExtraError, TooFewSentencesError
from textassay.execution.cluster import RayCluster
from textassay.execution.tasks import map_in_order, map_parts, map_tasks
from textassay.execution.threads import CLUSTER, allowed_workers, default_workers, on_cluster, parallel_map, workers
from textassay_lab.meta_evaluation.bench import parse_estimator, run_bench
from textassay_lab.meta_evaluation.stress import stress
from textassay_lab.papers.stages import Stage, Stages, Work

ray: Any = pytest.importorskip("ray")

TEXTS = {"a": sentences(200, 1), "b": shuffled(sentences(200, 2), 3)}
REAL = sentences(200, 5)
METRICS = ["bleu", "self-bleu(order=2)", "distinct-n", "vocabulary", "fed", "precision", "recall", "dd", "memorization"]


class Reference:
    """An object in the store."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self._name = uuid.uuid4().hex

    def hex(self) -> str:
        return self._name


class InProcess:
    """As much of Ray as is used; what is sent is copied, as it would be."""

    exceptions = ray.exceptions

    def __init__(self) -> None:
        self.n_tasks = 0
        self.n_put = 0
        self.n_idle = 0.0
        self.n_cancelled = 0

    def put(self, value: Any) -> Reference:
        self.n_put += 1
        return Reference(_copy(value))

    def get(self, reference: Reference) -> Any:
        return reference.value

    def wait(self, references: list[Reference], **settings: Any) -> tuple[list[Reference], list[Reference]]:
        return references[-1:], references[:-1]  # the last is done first

    def cancel(self, reference: Reference, *, force: bool) -> None:
        self.n_cancelled += 1

    def available_resources(self) -> dict[str, float]:
        return {"CPU": self.n_idle}

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": {"CPU": 2.0}}, {"Alive": False, "Resources": {"CPU": 64.0}}]

    def remote(self, function: Any) -> Any:
        store = self

        class Remote:
            def options(self, **settings: Any) -> "Remote":
                return self

            def remote(self, *arguments: Any) -> Reference:
                store.n_tasks += 1
                copies = [each.value if isinstance(each, Reference) else _copy(each) for each in arguments]
                token = CLUSTER.set(None)
                try:
                    return Reference(function(*copies))
                finally:
                    CLUSTER.reset(token)

        return Remote()


def _copy(value: Any) -> Any:
    return ray.cloudpickle.loads(ray.cloudpickle.dumps(value))


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcess]:
    store = InProcess()
    of_tasks = RayCluster(store)
    monkeypatch.setattr(sys.modules["textassay.execution.cluster"], "_cluster", lambda: of_tasks)
    token = CLUSTER.set(RayCluster(store))
    yield store
    CLUSTER.reset(token)


def here(function: Any, *arguments: Any) -> Any:
    """Return what a function returns without the cluster."""
    token = CLUSTER.set(None)
    try:
        return function(*arguments)
    finally:
        CLUSTER.reset(token)


def everything(out: Path | None = None) -> Any:
    train = sentences(200, 9)
    return compare(TEXTS, REAL, train=train, metrics=METRICS, effort="quick", workers=1, seed=3, out=out)


@pytest.mark.slow
def test_a_comparison_is_the_same_and_its_evidence_too(store: InProcess, tmp_path: Path) -> None:
    there = everything(tmp_path)
    expected = here(everything)
    assert there.to_dict() == expected.to_dict()
    for ours, theirs in zip(there.results, expected.results, strict=True):
        if theirs.estimate is None or theirs.estimate.evidence is None:
            assert ours.estimate is None or ours.estimate.evidence is None
            continue
        for name in ("real_terms", "generated_terms", "real_scores", "generated_scores"):
            np.testing.assert_array_equal(
                getattr(ours.estimate.evidence, name), getattr(theirs.estimate.evidence, name)
            )
    n_tasks = store.n_tasks
    assert store.n_put < n_tasks / 3  # corpora are sent once, not with each task
    assert everything(tmp_path).to_dict() == expected.to_dict()
    assert store.n_tasks == n_tasks  # what is kept is not computed again
    store.n_idle = 1
    assert everything().to_dict() == expected.to_dict()
    assert store.n_tasks > 2 * n_tasks  # folds are tasks, too


def test_parts_of_a_task_are_tasks_where_processors_are_idle(store: InProcess) -> None:
    corpus = Corpus.from_texts(sentences(50, 1))

    def part(number: int) -> int:
        warnings.warn(f"part {number}", stacklevel=1)
        return number * len(corpus)

    def task(number: int) -> tuple[list[int], bool]:
        return map_parts(part, range(3)), on_cluster()

    for n_idle, n_threads, n_tasks in ((0, 1, 1), (1, 1, 4), (1, 2, 1)):
        store.n_idle, store.n_tasks, store.n_put = n_idle, 0, 0
        with workers(n_threads), pytest.warns(UserWarning, match="part") as caught:
            assert map_in_order(task, [0]) == [([0, 50, 100], False)]
        if n_threads == 1:
            assert [str(each.message) for each in caught] == ["part 0", "part 1", "part 2"]
        assert store.n_tasks == n_tasks
    assert store.n_put < 4  # the corpus is not sent again
    assert store.n_cancelled == 0  # which might kill the process of another task
    with workers(1), pytest.warns(UserWarning, match="part"):
        assert here(parallel_map, part, range(3)) == map_parts(part, range(3)) == [0, 50, 100]


def test_bench_stress_and_stages_are_the_same(store: InProcess, tmp_path: Path) -> None:
    corpus = Corpus.from_texts(sentences(300, 7))

    def both(folder: Path) -> tuple[Any, Any]:
        names = [parse_estimator("bleu"), parse_estimator("distinct-n+log-probs")]
        worlds: dict[str, Any] = {"pair_names": ["identical-2", "disjoint"], "sizes": [60], "n_truth": 50, "seeds": [7]}
        bench = run_bench({"t": corpus}, names, folder=folder / "bench", **worlds)
        draws: dict[str, Any] = {"n_sentences": 60, "n_draws": 2, "seed": 1}
        result = stress(corpus, metrics=["bleu"], damages=["drop-words"], folder=folder / "stress", **draws)
        return [{**cell, "seconds": 0, "cpu_seconds": 0} for cell in bench.to_dict()["cells"]], result.to_dict()

    assert both(tmp_path / "there") == here(both, tmp_path / "here")

    def number(work: Work) -> int:
        warnings.warn("a number", stacklevel=1)
        return 21

    first = Stage("number", "n", {}, number)
    double = Stage("double", "n", {}, lambda work: 2 * work.inputs[first].result, (first,))
    stages = Stages(tmp_path / "stages")
    n_tasks = store.n_tasks
    assert stages.compute([double]) == 2
    assert store.n_tasks == n_tasks + 2
    assert [done.result for stage in (first, double) if (done := stages.done(stage))] == [21, 42]
    assert getattr(stages.done(first), "warnings", None) == ("a number",)


def test_what_is_sent_once_is_one_object_and_nobody_writes_to_its_arrays(store: InProcess) -> None:
    corpora = corpora_from_texts({"one": ["a b", "c"], "two": ["b c", "d"]})
    fingerprint = corpora["one"].fingerprint
    seen: list[str] = []

    def look(name: str) -> tuple[bool, bool, int, int]:
        one, two = corpora["one"], corpora["two"]
        seen.append(name)
        assert one.fingerprint == fingerprint
        return one.vocabulary is two.vocabulary, one.tokens.flags.writeable, len(seen), allowed_workers()

    assert on_cluster()
    assert default_workers() == 1
    with workers(5):
        outcomes = map_in_order(look, ["x", "y", "z"])
    assert [outcome[:2] for outcome in outcomes] == [(True, False)] * 3
    assert sorted(outcome[2] for outcome in outcomes) == [1, 2, 3]  # state lasts from task to task
    assert {outcome[3] for outcome in outcomes} == {5}
    assert seen == []
    arrays = [np.empty(0), np.arange(6).reshape(2, 3).T, np.arange(6)[::-2]]
    assert [array.tolist() for array in map_in_order(lambda array: array, arrays)] == [each.tolist() for each in arrays]


def test_errors_and_warnings_come_back_as_themselves(store: InProcess) -> None:
    def fail(number: int) -> int:
        warnings.warn(f"care {number}", RuntimeWarning, stacklevel=1)
        if number == 1:
            raise TooFewSentencesError("too few")
        if number == 2:
            raise MissingExtraError("this", "that")
        return number

    with pytest.warns(RuntimeWarning, match="care 0"):
        assert map_in_order(fail, [0]) == [0]
    with pytest.warns(RuntimeWarning, match="care 1"), pytest.raises(TooFewSentencesError, match=r"^too few$"):
        map_in_order(fail, [1])
    said = r"^this needs the 'that' extra"
    with pytest.warns(RuntimeWarning, match="care 2"), pytest.raises(MissingExtraError, match=said):
        map_in_order(fail, [2])


def test_what_items_hand_out_themselves_runs_here(store: InProcess) -> None:
    def items() -> Iterator[int]:
        for number in range(3):
            assert not on_cluster()
            yield number + sum(outcome for _, outcome in map_tasks(abs, [0]))

    told: list[int] = []
    assert sorted(map_tasks(lambda number: number**2, items(), tell=told.append)) == [(0, 0), (1, 1), (2, 4)]
    assert store.n_tasks == 3
    assert told
