"""Run `wright` as a user does, for its diagnosis; it gets no information about the injected faults."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.edge.processes import CommandResult, run

LIMIT_S = 120
COMMAND = "from clusterwright.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Wright:
    """Runs the `wright` command for one cluster file."""

    file: Path

    def execute(self, *arguments: str) -> CommandResult:
        """Run the `wright` command and return its result; never raises, as the cluster may be broken."""
        return run((sys.executable, "-P", "-c", COMMAND, *arguments), timeout_s=LIMIT_S)

    def causes(self, name: str) -> tuple[str, ...]:
        """Return the cause classes that `wright why` gives for a run or host, the likeliest first."""
        report = self._json("why", name, "--json", "--cluster", str(self.file))
        diagnoses = report.get("diagnoses", ())
        return tuple(
            str(diagnosis.get("class", ""))
            for diagnosis in diagnoses
            if diagnosis.get("role") in ("root", None)
        )

    def failures(self, run_: str) -> tuple[str, ...]:
        """Return the reasons of the failures that the run has recorded, the last first."""
        report = self._json("status", run_, "--json", "--cluster", str(self.file))
        return tuple(str(failure.get("reason", "")) for failure in reversed(report.get("failures", ())))

    def actions(self) -> tuple[Mapping[str, Any], ...]:
        """Return the last 500 actions that `wright heal` has done or proposed, then its notifications as `notify`."""
        report = self._json("heal", "log", "--json", "--last", "500", "--cluster", str(self.file))
        notifications = [
            {**notification, "action": "notify"} for notification in report.get("notifications", ())
        ]
        return (*report.get("actions", ()), *notifications)

    def _json(self, *arguments: str) -> Mapping[str, Any]:
        try:
            document = json.loads(self.execute(*arguments).out)
        except ValueError:
            return {}
        return document if isinstance(document, dict) else {}
