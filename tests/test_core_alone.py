"""The core without the laboratory: what does not need it works, what does says so in a line.

Both without any extra: `every_command.py` in tests/support, which `make test-alone` runs.
"""

import subprocess
import sys
from pathlib import Path

from textassay.errors import missing_extra

ALONE = """
import importlib, importlib.metadata, json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("textassay_lab", "pandas", "torch", "transformers"):
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

made = ta.compare({"near": sentences(150, 1), "far": sentences(150, 2, shift=0.5)}, sentences(150, 3), explain=False,
                  effort="quick")
assert made.best("dd") == ("near",), made
assert ta.length(sentences(60, 1), sentences(60, 2)).to_frame("polars").shape == (1, 11)
try:
    made.to_frame()
except ta.TextassayError as error:
    print(error)
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


def test_it_compares_says_what_it_lacks_and_every_module_can_be_imported() -> None:
    said = _alone(COMPARE + IMPORT)
    assert "needs the package textassay_lab" in said
    assert "to_frame('pandas') needs the 'pandas' extra" in said


def test_its_commands_are_there() -> None:
    shown = _alone("from textassay.cli.main import main\nassert main(['--help']) == 0")
    assert "compare" in shown
    assert "exposure" not in shown


def test_a_library_that_is_missing_names_its_extra() -> None:
    assert "needs the 'neural' extra" in str(missing_extra(ModuleNotFoundError("gone", name="torch.nn")))
    assert missing_extra(ModuleNotFoundError("gone", name="nonsense")) is None
