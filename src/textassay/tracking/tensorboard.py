"""TensorBoard: event files in a folder, written by tensorboardX or by PyTorch's writer."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_FOLDER = "runs"


class TensorBoardTracker:
    """A new run below the folder `where`, which is ``runs`` by default, as for TensorBoard's own writers."""

    def __init__(self, where: str | None = None) -> None:
        root = Path(where or _FOLDER)
        taken = {path.name for path in root.glob("textassay-*")} if root.is_dir() else set()
        number = next(n for n in range(1, len(taken) + 2) if f"textassay-{n}" not in taken)
        self.folder = root / f"textassay-{number}"
        module = "tensorboardX" if find_spec("tensorboardX") else "torch.utils.tensorboard"
        writer: Any = import_module(module).SummaryWriter
        self._writer = writer(str(self.folder))

    def values(self, values: Mapping[str, float], *, step: int | None = None) -> None:
        """Log scalars."""
        for key, value in values.items():
            self._writer.add_scalar(key, value, step or 0)
        self._writer.flush()

    def settings(self, settings: Mapping[str, str]) -> None:
        """Log a table as text."""
        rows = [f"| {key} | `{value}` |" for key, value in settings.items()]
        self._writer.add_text("textassay/settings", "\n".join(["| setting | value |", "| --- | --- |", *rows]), 0)

    def page(self, summary: str, files: Sequence[Path]) -> None:
        """Log the summary as text; event files hold no pages."""
        self._writer.add_text("textassay/summary", summary, 0)

    def close(self, *, failed: bool = False) -> None:
        """Write what is left."""
        self._writer.close()
