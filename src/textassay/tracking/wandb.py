"""Weights & Biases: online, or offline where its environment says so (``WANDB_MODE=offline``)."""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

_STEP = "textassay/step"
_PROJECT = "textassay"


class WandbTracker:
    """The run that is active, else a new one of the project `where`, else of ``WANDB_PROJECT`` or ``textassay``."""

    def __init__(self, where: str | None = None) -> None:
        self._wandb: Any = import_module("wandb")
        self._is_ours = self._wandb.run is None
        if self._is_ours:
            self.run = self._wandb.init(
                project=where or os.environ.get("WANDB_PROJECT", _PROJECT),
                reinit="create_new",  # so that the caller's own `wandb.init` is not affected
                settings=self._wandb.Settings(console="off"),  # standard output is left alone
            )
        else:
            self.run = self._wandb.run
        self._has_steps = False

    def values(self, values: Mapping[str, float], *, step: int | None = None) -> None:
        """Log a row of a training step, beside the caller's own steps; or the run's summary."""
        if step is None:
            self.run.summary.update(dict(values))
            return
        if not self._has_steps:
            self.run.define_metric(_STEP, hidden=True)
            self.run.define_metric("textassay/*", step_metric=_STEP)
            self._has_steps = True
        self.run.log({**values, _STEP: step})

    def settings(self, settings: Mapping[str, str]) -> None:
        """Log a part of the configuration called textassay."""
        known = dict(self.run.config.get("textassay") or {})
        self.run.config.update({"textassay": {**known, **settings}}, allow_val_change=True)

    def page(self, summary: str, files: Sequence[Path]) -> None:
        """Log an artifact with the files, and the page to look at."""
        artifact = self._wandb.Artifact("textassay-report", "report", description=summary)
        for file in files:
            artifact.add_file(str(file))
            if file.suffix == ".html":
                self.run.log({f"textassay/{file.stem}": self._wandb.Html(file.read_text(encoding="utf-8"))})
        self.run.log_artifact(artifact)

    def close(self, *, failed: bool = False) -> None:
        """End a run of our own; its files are complete then."""
        if self._is_ours:
            self.run.finish(exit_code=int(failed))
