"""Weights & Biases tracker: needs the package wandb; offline, in `wandb` of the run's folder, without an API key."""

from __future__ import annotations

import os
from typing import Any, Dict, List

from clusterwright.onhost.trackers.event_cursor import Row


class Tracker:
    """One W&B run with our run's name as id, so that a resumed run continues it."""

    def __init__(self, run: str, _tracker_state: Dict[str, Any], config: Dict[str, Any]) -> None:
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # to its authors; read by the import
        import wandb

        name = os.path.basename(run)
        has_key = os.environ.get("WANDB_API_KEY") or os.path.exists(os.path.expanduser("~/.netrc"))
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or str(config.get("name") or "clusterwright"),
            id=name,
            name=name,
            resume="allow",
            dir=run,
            config=config,
            mode=os.environ.get("WANDB_MODE") or ("online" if has_key else "offline"),  # type: ignore[arg-type]  # (theirs)
            settings=wandb.Settings(console="off", x_disable_stats=True),
        )
        self._run.define_metric("*", step_metric="step")

    def log(self, rows: List[Row]) -> None:
        """Send the measurements with the step as a value too: a measure may come after a later step."""
        for row in rows:
            self._run.log({**row.values, "step": row.step})

    def close(self, *, finished: bool) -> None:
        """End the W&B run as successful if `finished`, else as failed; wait until all measurements are sent."""
        self._run.finish(exit_code=0 if finished else 1)
