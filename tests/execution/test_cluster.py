"""Tasks on a Ray cluster of several nodes on this machine: numbers as without it, and what dies is done again."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up import sentences, shuffled
from textassay.cli.main import main
from textassay.comparison.run import compare
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import ClusterError, MissingExtraError, OptionError, TooFewSentencesError
from textassay.execution.cluster import cluster
from textassay.execution.tasks import map_in_order, map_parts, map_tasks
from textassay.execution.threads import allowed_workers, default_workers, device, workers
from textassay.metric.base import declare_metric
from textassay_lab.meta_evaluation.bench import parse_estimator, run_bench
from textassay_lab.meta_evaluation.stress import stress
from textassay_lab.papers.stages import Stage, Stages, Work

ray: Any = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,  # on a busy machine Ray takes minutes to start
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

TEXTS = {"a": sentences(300, 1), "b": shuffled(sentences(300, 2), 3), "c": sentences(200, 4, shift=0.5)}
REAL = sentences(300, 5)
METRICS = ["bleu", "self-bleu(order=2)", "distinct-n", "length", "vocabulary", "fed", "dd"]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A cluster of two nodes, of one processor each, that this process has joined."""
    from ray.cluster_utils import Cluster

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with tempfile.TemporaryDirectory(prefix="ray-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "600")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
            made.add_node(num_cpus=1)
        patch.setenv("RAY_ADDRESS", made.address)
        with cluster("auto"):
            yield made
        made.shutdown()


def everything(**settings: Any) -> dict[str, Any]:
    return compare(TEXTS, REAL, metrics=METRICS, effort="quick", workers=1, seed=3, **settings).to_dict()


def test_numbers_are_those_of_one_machine_on_any_number_of_nodes(nodes: Any, tmp_path: Path) -> None:
    there = everything(out=tmp_path)
    nodes.add_node(num_cpus=1)
    last = nodes.add_node(num_cpus=1)
    of_four = everything()
    nodes.remove_node(last)
    from textassay.execution.cluster import _here

    with _here():
        here = everything()
        assert everything(out=tmp_path) == here  # what is kept is found again
    assert there == here
    assert of_four == here


def test_what_is_sent_once_is_one_object_and_its_arrays_are_shared(nodes: Any) -> None:
    corpora = corpora_from_texts({"one": ["a b", "c"], "two": ["b c", "d"]})
    seen: dict[str, int] = {}

    def look(name: str) -> tuple[int, bool, bool, bool, int, int]:
        one, two = corpora["one"], corpora["two"]
        seen[name] = seen.get(name, 0) + 1
        shared = one.vocabulary is two.vocabulary
        writeable = one.tokens.flags.writeable
        return os.getpid(), shared, writeable, one.fingerprint == fingerprint, sum(seen.values()), allowed_workers()

    fingerprint = corpora["one"].fingerprint
    assert default_workers() == 1
    with workers(5):
        outcomes = map_in_order(look, [f"task {number}" for number in range(12)])
    assert {outcome[1:4] for outcome in outcomes} == {(True, False, True)}
    assert {outcome[5] for outcome in outcomes} == {5}
    assert os.getpid() not in {outcome[0] for outcome in outcomes}
    assert max(outcome[4] for outcome in outcomes) > 1  # state lasts from task to task
    assert seen == {}


def test_errors_and_warnings_come_back_as_themselves(nodes: Any) -> None:
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
    with (
        pytest.warns(RuntimeWarning, match="care 2"),
        pytest.raises(MissingExtraError, match=r"^this needs the 'that'"),
    ):
        map_in_order(fail, [2])
    with pytest.raises(TooFewSentencesError, match="a: wanting needs"):
        compare({"a": REAL[:2]}, REAL, metrics=[wanting])


@declare_metric("wanting", at_least=5)
def wanting(generated: Corpus, real: Corpus) -> float:
    """Metric of a user, which is sent with its code."""
    return float(len(generated.tokens))


def test_a_metric_of_ones_own_runs_there(nodes: Any) -> None:
    there = compare(TEXTS, REAL, metrics=[wanting], explain=False)
    assert there.results[-1].estimate is not None
    assert there.results[-1].estimate.value == sum(len(text.split()) for text in TEXTS["c"])


def test_a_task_whose_process_is_killed_is_run_again(nodes: Any, tmp_path: Path) -> None:
    def task(number: int) -> int:
        mark = tmp_path / f"{number}"
        if number % 3 == 0 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number**2

    assert map_in_order(task, range(9)) == [number**2 for number in range(9)]
    assert len(list(tmp_path.iterdir())) == 3

    def doomed(number: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ClusterError, match="the cluster could not run a task: "):
        map_in_order(doomed, [1])


def test_a_node_that_is_lost_costs_its_tasks_only(nodes: Any) -> None:
    extra = nodes.add_node(num_cpus=1)

    def task(number: int) -> tuple[int, str]:
        time.sleep(0.3)
        return number, ray.get_runtime_context().get_node_id()

    outcomes = []
    for count, (number, (_, node)) in enumerate(map_tasks(task, range(12))):
        outcomes.append(number)
        if count == 2:
            nodes.remove_node(extra, allow_graceful=False)
        assert node
    assert sorted(outcomes) == list(range(12))


def test_parts_of_a_task_run_on_other_nodes(nodes: Any) -> None:
    nodes.add_node(num_cpus=1)

    def part(number: int) -> tuple[int, int]:
        time.sleep(0.5)
        if number > 6:
            raise TooFewSentencesError("too few")
        return number, os.getpid()

    def task(n_parts: int) -> list[tuple[int, int]]:
        return map_parts(part, range(n_parts))

    (parts,) = map_in_order(task, [6])
    assert [number for number, _ in parts] == list(range(6))
    assert len({process for _, process in parts}) > 1
    with pytest.raises(TooFewSentencesError, match=r"^too few$"):
        map_in_order(task, [8])


def test_a_task_of_networks_has_a_gpu_for_itself(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["textassay.execution.threads"], "check_device", str)  # there is no GPU here

    def gpus(number: int) -> tuple[str | None, list[Any]]:
        return os.environ.get("CUDA_VISIBLE_DEVICES"), map_parts(abs, [number])

    with device("cuda"), pytest.raises(OptionError, match="no node of the cluster has a GPU"):
        map_in_order(gpus, range(3))
    with_gpus = nodes.add_node(num_cpus=3, num_gpus=2)
    with device("cuda"):
        outcomes = map_in_order(gpus, range(6))
    assert {visible for visible, _ in outcomes} <= {"0", "1"}
    assert [number for _, (number,) in outcomes] == list(range(6))
    with device("cuda:1"), pytest.raises(OptionError, match="on a cluster, device must be auto, cpu or cuda"):
        map_in_order(gpus, range(3))
    nodes.remove_node(with_gpus)


def test_one_generator_keeps_all_nodes_busy_with_the_same_numbers(nodes: Any) -> None:
    from textassay.execution.cluster import _here

    def numbers() -> dict[str, Any]:
        return compare({"a": TEXTS["a"]}, REAL, metrics=["dd"], workers=1).to_dict()

    there = numbers()
    with _here():
        assert numbers() == there


@pytest.mark.parametrize(
    ("number", "status", "word"), [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "int")]
)
def test_a_command_that_is_stopped_says_so(nodes: Any, tmp_path: Path, number: int, status: int, word: str) -> None:
    for name, texts in {"real": REAL, "a": TEXTS["a"]}.items():
        (tmp_path / name).write_text("\n".join(texts))
    words = ["compare", "a=a", "--real", "real", "--cluster", "auto", "--out", "out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "textassay", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "out" / "estimates").exists() and process.poll() is None:
        time.sleep(0.1)  # then the cluster is joined
    time.sleep(1)
    process.send_signal(number)
    _, said = process.communicate(timeout=120)
    assert process.returncode == status, said
    assert said.splitlines()[-1].startswith(f"textassay: {word}")
    assert "Traceback" not in said


def test_bench_and_stress_there_are_those_here(nodes: Any, tmp_path: Path) -> None:
    from textassay.execution.cluster import _here

    corpus = Corpus.from_texts(sentences(400, 7))

    def both(folder: Path) -> tuple[Any, Any]:
        names = [parse_estimator("bleu"), parse_estimator("distinct-n+log-probs")]
        worlds: dict[str, Any] = {"pair_names": ["identical-2", "disjoint"], "sizes": [60], "n_truth": 50, "seeds": [7]}
        bench = run_bench({"t": corpus}, names, folder=folder / "bench", **worlds)
        draws: dict[str, Any] = {"n_sentences": 60, "n_draws": 2, "seed": 1}
        result = stress(corpus, metrics=["bleu"], damages=["drop-words"], folder=folder / "stress", **draws)
        cells = [{**cell, "seconds": 0, "cpu_seconds": 0} for cell in bench.to_dict()["cells"]]
        return cells, result.to_dict()

    there = both(tmp_path / "there")
    with _here():
        assert both(tmp_path / "here") == there
        assert both(tmp_path / "there") == there
    names = [sorted(path.relative_to(tmp_path / side).as_posix() for path in (tmp_path / side).rglob("*.json"))
             for side in ("here", "there")]  # fmt: skip
    assert names[0] == names[1]


def test_stages_of_a_study_are_tasks(nodes: Any, tmp_path: Path) -> None:
    def number(work: Work) -> int:
        warnings.warn("a number", stacklevel=1)
        (work.folder / "pid.txt").write_text(str(os.getpid()))
        return 21

    first = Stage("number", "n", {}, number)
    double = Stage("double", "n", {}, lambda work: 2 * work.inputs[first].result, (first,))
    stages = Stages(tmp_path)
    assert stages.compute([double]) == 2
    finished = stages.done(first)
    assert finished is not None
    assert finished.warnings == ("a number",)
    assert int((finished.folder / "pid.txt").read_text()) != os.getpid()
    assert [done.result for stage in (first, double) if (done := stages.done(stage))] == [21, 42]


def test_the_command_line_has_one_switch(nodes: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, texts in {"real": REAL, "a": TEXTS["a"]}.items():
        (tmp_path / name).write_text("\n".join(texts))
    printed = []
    for where in (["--cluster", "auto"], []):
        command = ["compare", f"a={tmp_path / 'a'}", "--real", str(tmp_path / "real"), "--metrics", "bleu", "--json"]
        assert main([*command, "--quiet", *where]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_arrays_that_are_sent_may_be_empty_or_reversed(nodes: Any) -> None:
    arrays = [np.empty(0), np.arange(6).reshape(2, 3).T, np.arange(6)[::-2]]
    assert [array.tolist() for array in map_in_order(lambda array: array, arrays)] == [each.tolist() for each in arrays]


def test_another_version_of_textassay_is_refused(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["textassay.execution.cluster"], "version", lambda name: "0.0.1")
    with pytest.raises(OptionError, match=r"a node of the cluster has textassay .*, not 0\.0\.1: install the same"):
        map_in_order(str, [1])
