"""What `wright` says, asked as a user asks it: the campaign knows the truth, and tells none of them."""

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
    """The command, for one cluster file."""

    file: Path

    def execute(self, *arguments: str) -> CommandResult:
        """What it answered; never an exception, for a cluster that is broken is what it is asked about."""
        return run((sys.executable, "-c", COMMAND, *arguments), timeout_s=LIMIT_S)

    def causes(self, name: str) -> tuple[str, ...]:
        """Classes of causes of the run or host, the likeliest first."""
        report = self._json("why", name, "--json", "--cluster", str(self.file))
        diagnoses = report.get("diagnoses", ())
        return tuple(
            str(diagnosis.get("class", ""))
            for diagnosis in diagnoses
            if diagnosis.get("role") in ("root", None)
        )

    def failures(self, run_: str) -> tuple[str, ...]:
        """What the run itself has noted as broken, the last first."""
        report = self._json("status", run_, "--json", "--cluster", str(self.file))
        return tuple(str(failure.get("reason", "")) for failure in reversed(report.get("failures", ())))

    def actions(self) -> tuple[Mapping[str, Any], ...]:
        """What `wright heal` has done, proposed or told."""
        report = self._json("heal", "log", "--json", "--last", "500", "--cluster", str(self.file))
        notifications = [
            {**notification, "action": "tell"} for notification in report.get("notifications", ())
        ]
        return (*report.get("actions", ()), *notifications)

    def _json(self, *arguments: str) -> Mapping[str, Any]:
        try:
            document = json.loads(self.execute(*arguments).out)
        except ValueError:
            return {}
        return document if isinstance(document, dict) else {}
