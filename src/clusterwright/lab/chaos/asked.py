"""What `wright` says, asked as a user asks it: the campaign knows the truth, and tells none of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.edge.processes import Done, run

LIMIT_S = 120
COMMAND = "from clusterwright.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Wright:
    """The command, for one cluster file."""

    file: Path

    def say(self, *words: str) -> Done:
        """What it answered; never an exception, for a cluster that is broken is what it is asked about."""
        return run((sys.executable, "-c", COMMAND, *words), timeout_s=LIMIT_S)

    def causes(self, word: str) -> tuple[str, ...]:
        """Classes of causes of the run or host, the likeliest first."""
        said = self._json("why", word, "--json", "--cluster", str(self.file))
        found = said.get("diagnoses", ())
        return tuple(str(each.get("class", "")) for each in found if each.get("role") in ("root", None))

    def failures(self, run_: str) -> tuple[str, ...]:
        """What the run itself has noted as broken, the last first."""
        said = self._json("status", run_, "--json", "--cluster", str(self.file))
        return tuple(str(each.get("why", "")) for each in reversed(said.get("failures", ())))

    def deeds(self) -> tuple[Mapping[str, Any], ...]:
        """What `wright heal` has done, proposed or told."""
        said = self._json("heal", "log", "--json", "--last", "500", "--cluster", str(self.file))
        told = [{**each, "action": "tell"} for each in said.get("tells", ())]
        return (*said.get("deeds", ()), *told)

    def _json(self, *words: str) -> Mapping[str, Any]:
        try:
            said = json.loads(self.say(*words).out)
        except ValueError:
            return {}
        return said if isinstance(said, dict) else {}
