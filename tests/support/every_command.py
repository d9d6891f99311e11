"""Every command's smallest case and every public name, with textassay as it is installed: alone, without extras.

``make test-alone`` runs it in an environment that has nothing but the wheel. What can do its work without an extra does
it; what cannot says so in one line that names the extra. What does neither is printed, and the exit status is 1.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from made_up import sentences

PUBLIC_NAMES = """
import pydoc
import textassay as ta
from textassay import *

assert "compare" in pydoc.render_doc(ta)
assert hasattr(ta, "judge") and not hasattr(ta, "nonsense")
things = [getattr(ta, name) for name in ta.__all__]
for face in (ta.generators, ta.discriminators):
    things += [getattr(face, name) for name in face.__all__]
assert len(things) > 100
try:
    ta.bleu(["a b c"] * 30, ["a b d"] * 30, order=2).to_frame()
except ta.TextassayError as error:
    assert "needs the 'pandas' extra" in str(error)
else:
    raise AssertionError("a data frame without pandas")
"""
FILES = "--real real.txt a=other.txt b=more.txt"
RUN_ELSEWHERE = {"demo"}  # `make demo`, without extras, too
KEYS = "r\nf\n1\n2\n" * 120  # what a judge types: real or fake, the first or the second word

# A case may need what stands before it in its list; the lists are independent of each other.
WORK: Sequence[Sequence[str]] = (
    (
        f"compare {FILES} --metrics dd,bleu,self-bleu,fed --out report",
        f"compare {FILES} --metrics bleu,length --out again",
        f"compare {FILES} --metrics dd,bleu --effort quick --equivalent dd=0.99,bleu=0.99 --junit verdicts.xml",
        "report report again --out changes",
        f"explain {FILES} --out explained",
        f"inspect {FILES} --out inspected",
        "plan --pilot report --margin 0.1 --out planned",
        "share --real heldout.txt same=fresh.txt --effort quick --out shared",
        "leaks --train real.txt --real heldout.txt same=fresh.txt --out leaked",
        "audit start --texts answered.jsonl --out audit",
        "audit check audit --texts again.jsonl --out audited",
        f"judge {FILES} --gold 'a>b' --metrics length --out judged",
        "stress --real real.txt --metrics length --draws 2 --out stressed",
    ),
    (
        "train ngram --real real.txt --out model",
        "sample model -n 3",
        "likelihood model other.txt",
        "exposure model --real other.txt --runs 2 --samples 20 --out exposed",
        "approximate model other.txt --samples 20 --out approximated",
        "discrepancy model model -n 20 --out apart",
        "train position-unigram --real real.txt --out positions",
        f"compare {FILES} drawn=positions --metrics bleu",
        "contexts real.txt --labels labels.txt --out contexts.tsv",
        "bench real.txt --worlds identical --sentences 60 --truth 200 --estimators plain --out benched",
        "study list",
        "human power --accuracy 0.7",
        f"human build {FILES} --page-size 6 --judgements 1 --no-check --out people",
        "human export people --to mechanical-turk",
        "human export people --to label-studio",
        "human export people --to html",
        "human judge people --rater me --pages 80 --out answers.csv",
        "human import people answers.csv --most-pages 80 --out imported",
        "human analyse imported/judgements.csv --out analysed",
        "human next-word model --real other.txt --length 3 --pages 2 --page-size 4 --out words",
        "human judge words --rater me --pages 2 --out chosen.csv",
        "human import words chosen.csv --out chosen",
        "human exposure chosen/judgements.csv",
    ),
)
NEEDS = {
    "train lstm --real real.txt --out lstm": "neural",
    "translate nothing real.txt": "neural",
    "sample random-lstm:1 -n 3": "neural",
    "study dd-real --real real.txt --out dd": "neural",
    "study dd-synthetic --real real.txt --out dd": "neural",
    "study exposure-bias --data . --out exposure": "neural",
    "study gan-as-lm --data . --out gan": "neural",
    "study judges --judgements imported/judgements.csv --out judges": "boosting",
    "human serve people": "human",
    "human invite people": "human",
    f"compare {FILES} --encoder all-MiniLM-L6-v2": "encoders",
    f"compare {FILES} --encoder minilm": "minilm",
    f"compare {FILES} --prior english": "prior",
    f"compare {FILES} --prior smollm2": "prior-lm",
    f"compare {FILES} --cluster auto": "ray",
    f"compare {FILES} --tokenizer segment": "segment",
    "inspect --real table.parquet a=other.txt": "parquet",
    "compare --real s3://bucket/real.txt a=other.txt": "remote",
}


def main() -> int:
    """Run everything in a fresh folder, two cases at a time; print what is wrong, and return 1 if anything is."""
    with tempfile.TemporaryDirectory() as name:
        _write_texts(Path(name))
        with ThreadPoolExecutor(2) as pool:
            working = [line for lines in pool.map(lambda cases: _working(cases, name), WORK) for line in lines]
            lacking = list(pool.map(lambda case: _lacking(case[0], case[1], name), NEEDS.items()))
        names = _python("-c", PUBLIC_NAMES, folder=name)
    wrong = [*_left_out(), *working, *filter(None, lacking)]
    wrong += [names.stderr] if names.returncode else []
    print("\n".join(wrong) or f"{sum(map(len, WORK))} commands work without extras, {len(NEEDS)} name theirs")
    return int(bool(wrong))


def _write_texts(folder: Path) -> None:
    for number, (name, n) in enumerate({"real": 240, "other": 120, "more": 120}.items()):
        lines = sentences(n, number, shift=0.3 * number)
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for number, name in enumerate(("heldout", "fresh"), start=5):  # as many as it takes to say that nothing leaked
        lines = sentences(6000, number)
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for name, first in {"answered": 0, "again": 120}.items():
        texts = sentences(240, 0)[first : first + 120]
        rows = [json.dumps({"prompt": f"prompt {k % 20}", "text": text}) for k, text in enumerate(texts)]
        (folder / f"{name}.jsonl").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    (folder / "labels.txt").write_text("".join(f"{k % 2}\n" for k in range(240)), encoding="utf-8")
    (folder / "table.parquet").write_bytes(b"PAR1 and nothing else PAR1")


def _python(*arguments: str, folder: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        input=KEYS,
        capture_output=True,
        text=True,
        check=False,
    )


def _run(case: str, folder: str) -> "subprocess.CompletedProcess[str]":
    return _python("-m", "textassay", *shlex.split(case), folder=folder)


def _working(cases: Sequence[str], folder: str) -> list[str]:
    done = {case: _run(case, folder) for case in cases}
    return [f"textassay {case}: status {one.returncode}\n{one.stderr}" for case, one in done.items() if one.returncode]


def _lacking(case: str, extra: str, folder: str) -> str:
    done = _run(case, folder)
    last = (done.stderr.splitlines() or [""])[-1]
    if done.returncode == 2 and f"needs the '{extra}' extra" in last:
        return ""
    return f"textassay {case}: status {done.returncode}, does not name the extra '{extra}'\n{done.stderr}"


def _left_out() -> list[str]:
    """Return the commands that no case is of."""
    from textassay.cli.main import all_commands
    from textassay_lab.cli.commands import HUMAN, STUDIES

    names = {name for commands in all_commands().values() for name in commands}
    names -= RUN_ELSEWHERE
    names |= {f"human {name}" for name in HUMAN.commands} | {f"study {name}" for name in STUDIES}
    cases = [f"{case} " for case in (*(case for cases in WORK for case in cases), *NEEDS)]
    without = [name for name in sorted(names) if not any(case.startswith(f"{name} ") for case in cases)]
    return [f"no case of textassay {name}" for name in without]


if __name__ == "__main__":
    sys.exit(main())
