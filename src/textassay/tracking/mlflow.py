"""MLflow: a run of its tracking server, database or folder, written through the client."""

import os
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

_PREFIX = "textassay."
_MOST_AT_ONCE = 100  # parameters or tags, and, for simplicity, metrics, of one request


class MlflowTracker:
    """The active run, else a new one of the experiment `where`, else of that which MLflow's environment names."""

    def __init__(self, where: str | None = None) -> None:
        mlflow: Any = import_module("mlflow")
        self._entities: Any = import_module("mlflow.entities")
        self._client = mlflow.MlflowClient()
        active = mlflow.active_run()
        named = os.environ.get("MLFLOW_RUN_ID")
        self._is_ours = active is None and not named
        if active is not None:
            self.run_id = active.info.run_id
        elif named:
            self.run_id = self._client.get_run(named).info.run_id
        else:
            self.run_id = self._client.create_run(self._experiment(where), run_name="textassay").info.run_id

    def _experiment(self, where: str | None) -> str:
        name = where or os.environ.get("MLFLOW_EXPERIMENT_NAME")
        if name is None:
            return os.environ.get("MLFLOW_EXPERIMENT_ID", "0")
        found = self._client.get_experiment_by_name(name)
        return str(self._client.create_experiment(name) if found is None else found.experiment_id)

    def values(self, values: Mapping[str, float], *, step: int | None = None) -> None:
        """Log metrics."""
        now = int(time.time() * 1000)
        metrics = [self._entities.Metric(key, value, now, step or 0) for key, value in values.items()]
        for begin in range(0, len(metrics), _MOST_AT_ONCE):
            self._client.log_batch(self.run_id, metrics=metrics[begin : begin + _MOST_AT_ONCE])

    def settings(self, settings: Mapping[str, str]) -> None:
        """Log parameters of a run of our own; tags of another, since its parameters cannot be changed."""
        kind = self._entities.Param if self._is_ours else self._entities.RunTag
        logged = [kind(f"{_PREFIX}{key}", value) for key, value in settings.items()]
        for begin in range(0, len(logged), _MOST_AT_ONCE):
            part = logged[begin : begin + _MOST_AT_ONCE]
            self._client.log_batch(self.run_id, **{"params" if self._is_ours else "tags": part})

    def page(self, summary: str, files: Sequence[Path]) -> None:
        """Log artifacts, and the summary as the description of a run of our own."""
        for file in files:
            self._client.log_artifact(self.run_id, str(file), "textassay")
        if self._is_ours:
            self._client.set_tag(self.run_id, "mlflow.note.content", summary)

    def close(self, *, failed: bool = False) -> None:
        """End a run of our own."""
        if self._is_ours:
            self._client.set_terminated(self.run_id, "FAILED" if failed else "FINISHED")
