"""The core without the laboratory, and both without PyTorch: what needs neither works, what does says so in a line."""

import subprocess
import sys
from pathlib import Path

from textassay.errors import missing_extra

ALONE = """
import importlib, importlib.metadata, json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("textassay_lab", "torch", "transformers"):
            raise ModuleNotFoundError(f"{name} is absent here", name=name)

sys.meta_path.insert(0, Absent())
found = importlib.metadata.entry_points
importlib.metadata.entry_points = lambda **asked: [] if "textassay" in asked.get("group", "") else found(**asked)
"""
IMPORT = """
import pkgutil, textassay

for module in pkgutil.walk_packages(textassay.__path__, "textassay."):
    if module.name not in ("textassay.__main__", "textassay.testing.plugin"):
        importlib.import_module(module.name)
"""
COMPARE = """
import textassay as ta
from made_up import sentences

made = ta.compare({"near": sentences(150, 1), "far": sentences(150, 2, shift=0.5)}, sentences(150, 3), explain=False)
assert made.best("dd") == ("near",), made
assert "judge" not in dir(ta) and "Stack" in dir(ta.discriminators) and "Cnn" not in dir(ta.discriminators)
try:
    ta.compare({"model": "random-lstm:1"}, sentences(20, 1))
except ta.TextassayError as error:
    print(error)
"""


def _alone(code: str) -> str:
    support = Path(__file__).parent / "support"
    code = f"{ALONE}sys.path.insert(0, {str(support)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_of_the_core_can_be_imported() -> None:
    _alone(IMPORT)


def test_it_compares_and_says_what_it_lacks() -> None:
    assert "needs textassay's laboratory" in _alone(COMPARE)


def test_its_commands_are_there() -> None:
    shown = _alone("from textassay.cli.main import main\nassert main(['--help']) == 0")
    assert "compare" in shown
    assert "exposure" not in shown


WITHOUT_TORCH = """
import importlib.util, pathlib, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "tokenizers"):
            raise ModuleNotFoundError(f"{{name}} is absent here", name=name)

def found(name, package=None, known=importlib.util.find_spec):
    try:
        return known(name, package)
    except ModuleNotFoundError:
        return None

sys.meta_path.insert(0, Absent())
importlib.util.find_spec = found
sys.path.insert(0, {support!r})

import textassay as ta
from made_up import sentences
from textassay import *
from textassay.cli.main import main

for name in (*ta.__all__, *(f"discriminators.{{name}}" for name in dir(ta.discriminators) if name[0] != "_")):
    thing = ta
    for part in name.split("."):
        thing = getattr(thing, part)
for name in ta.generators.__all__:
    getattr(ta.generators, name)

folder = pathlib.Path({folder!r})
for number, name in enumerate(("real", "other", "more")):
    (folder / f"{{name}}.txt").write_text("\\n".join(sentences(120, number)))
real, other, more = (str(folder / f"{{name}}.txt") for name in ("real", "other", "more"))
model = str(folder / "model")
for words in (
    ["train", "ngram", "--real", real, "--out", model],
    ["sample", model, "-n", "3"],
    ["likelihood", model, other],
    ["exposure", model, "--real", other, "--runs", "2", "--samples", "20"],
    ["approximate", model, other, "--samples", "20"],
    ["discrepancy", model, model, "-n", "20"],
    ["judge", f"a={{other}}", f"b={{more}}", "--real", real, "--gold", "a>b", "--metrics", "length"],
    ["stress", "--real", real, "--metrics", "length", "--draws", "2"],
):
    assert main([*words, "--quiet"]) == 0, words
assert main(["train", "lstm", "--real", real, "--out", str(folder / "lstm"), "--quiet"]) == 2
"""


def test_without_pytorch_all_that_counts_works(tmp_path: Path) -> None:
    support = str(Path(__file__).parent / "support")
    code = WITHOUT_TORCH.format(support=support, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].startswith("textassay: error: the lstm generator needs the 'neural' extra")


def test_a_library_that_is_missing_names_its_extra() -> None:
    assert "needs the 'neural' extra" in str(missing_extra(ModuleNotFoundError("gone", name="torch.nn")))
    assert missing_extra(ModuleNotFoundError("gone", name="nonsense")) is None
