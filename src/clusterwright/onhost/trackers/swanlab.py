"""SwanLab tracker: needs the package swanlab; offline, in `swanlog` of the run's folder, without an API key."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Dict, List

from clusterwright.onhost.trackers.event_cursor import Row

LETTERS = 21  # length of SwanLab's ids


class Tracker:
    """One SwanLab experiment with an id derived from our run's name, so that a resumed run continues it."""

    def __init__(self, run: str, _tracker_state: Dict[str, Any], config: Dict[str, Any]) -> None:
        import swanlab

        self._swanlab, name = swanlab, os.path.basename(run)
        swanlab.init(
            project=os.environ.get("SWANLAB_PROJECT") or str(config.get("name") or "clusterwright"),
            name=name,
            config=config,
            log_dir=os.path.join(run, "swanlog"),
            id=hashlib.sha256(name.encode()).hexdigest()[:LETTERS],
            resume="allow",
            mode=os.environ.get("SWANLAB_MODE")
            or ("online" if os.environ.get("SWANLAB_API_KEY") else "offline"),
        )

    def log(self, rows: List[Row]) -> None:
        """Send each row of measurements to SwanLab, by its step."""
        for row in rows:
            self._swanlab.log(dict(row.values), step=row.step)

    def close(self, *, finished: bool) -> None:
        """End the SwanLab run as successful if `finished`, else as aborted; wait until all measurements are sent."""
        self._swanlab.finish(state="success" if finished else "aborted")
