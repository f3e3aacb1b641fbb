"""MLflow tracker: the server of $MLFLOW_TRACKING_URI, else `mlruns` in the run's folder; needs mlflow-skinny."""

from __future__ import annotations

import os
from typing import Any, Dict, List

from clusterwright.onhost.trackers.event_cursor import Row

MOST = 1000  # metrics per request (MLflow's REST API, log-batch)
RUN_TAG = "clusterwright.run"  # the tag by which a run is found again


class Tracker:
    """One MLflow run for one of our runs, across all its restarts."""

    def __init__(self, run: str, tracker_state: Dict[str, Any], config: Dict[str, Any]) -> None:
        # MLflow recommends a database over files; files suffice for data that is written once
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # to its authors
        from mlflow import MlflowClient

        uri = (
            os.environ.get("MLFLOW_TRACKING_URI") or f"file://{os.path.join(os.path.abspath(run), 'mlruns')}"
        )
        self._client = MlflowClient(tracking_uri=uri)
        self._id: str = tracker_state.get("id") or self._find(os.path.basename(run), config)
        tracker_state["id"] = self._id
        self._client.update_run(self._id, status="RUNNING")

    def log(self, rows: List[Row]) -> None:
        """Send the values of all measurements to MLflow, in as few requests as possible."""
        from mlflow.entities import Metric

        metrics = [
            Metric(name, value, round(row.time * 1000), row.step)
            for row in rows
            for name, value in row.values.items()
        ]
        for start in range(0, len(metrics), MOST):
            self._client.log_batch(self._id, metrics=metrics[start : start + MOST])

    def close(self, *, finished: bool) -> None:
        """Set the MLflow run's final status, FINISHED or KILLED, which a resumed run resets."""
        self._client.set_terminated(self._id, status="FINISHED" if finished else "KILLED")

    def _find(self, name: str, config: Dict[str, Any]) -> str:
        """Return the id of the MLflow run that has our run's name as a tag; create it with `config` if it is missing.

        A process of an earlier start of the run may have created it.
        """
        experiment_name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or str(
            config.get("name") or "clusterwright"
        )
        existing = self._client.get_experiment_by_name(experiment_name)
        experiment = existing.experiment_id if existing else self._client.create_experiment(experiment_name)
        runs = self._client.search_runs([experiment], f"tags.`{RUN_TAG}` = '{name}'")
        if runs:
            return str(runs[0].info.run_id)
        new_run = self._client.create_run(experiment, run_name=name, tags={RUN_TAG: name})
        for key, value in config.items():
            self._client.log_param(new_run.info.run_id, key, value)
        return str(new_run.info.run_id)
