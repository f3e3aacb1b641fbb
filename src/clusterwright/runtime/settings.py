"""Settings that the launcher passes in CLUSTERWRIGHT_* variables, all optional."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Every:
    """The checkpoint interval: a number of steps, or seconds of rank 0's clock."""

    steps: int | None = None
    seconds: float | None = None

    @staticmethod
    def parse(text: str) -> Every:
        """Return the checkpoint interval for `steps:25` or `seconds:600`.

        Raises:
            ValueError: another text, or 0.
        """
        match = re.fullmatch(r"(steps|seconds):(\d{1,9})", text)
        if not match or int(match[2]) == 0:
            raise ValueError(f"checkpoint interval `{text}` is invalid; fix: write steps:25 or seconds:600")
        return Every(**{match[1]: int(match[2])})


@dataclass(frozen=True)
class Settings:
    """Folders, checkpoint interval and retention of a run. Without `checkpoints` nothing is saved."""

    run: Path | None
    checkpoints: Path | None
    every: Every
    save_total_limit: int
    generation: int
    deadline: float | None
    parallel: Mapping[str, Any] = field(default_factory=dict)
    precision: str = "auto"
    best: str | None = None


def read(
    folder: str | None,
    every: str | None,
    save_total_limit: int | None,
    environ: Mapping[str, str] = os.environ,
    *,
    parallel: Mapping[str, Any] | None = None,
    precision: str = "auto",
) -> Settings:
    """Return the settings of saving: the script's, else the launcher's, else a save every ten minutes, three retained.

    At least two are retained. Without any folder nothing is saved.
    """
    run = folder or environ.get("CLUSTERWRIGHT_RUN")
    checkpoints = environ.get("CLUSTERWRIGHT_CHECKPOINTS") if not folder else None
    if run and not checkpoints:
        checkpoints = f"{run}/checkpoints"
    deadline = environ.get("CLUSTERWRIGHT_DEADLINE")
    return Settings(
        run=Path(run) if run else None,
        checkpoints=Path(checkpoints) if checkpoints else None,
        every=Every.parse(every or environ.get("CLUSTERWRIGHT_CHECKPOINT_EVERY", "seconds:600")),
        save_total_limit=max(
            2, save_total_limit or int(environ.get("CLUSTERWRIGHT_SAVE_TOTAL_LIMIT", "3"))
        ),  # one may be damaged
        generation=int(environ.get("CLUSTERWRIGHT_GENERATION", "0")),
        deadline=float(deadline) if deadline else None,
        parallel=json.loads(environ.get("CLUSTERWRIGHT_PARALLEL", "{}")) if parallel is None else parallel,
        precision=precision,
        best=environ.get("CLUSTERWRIGHT_CHECKPOINT_BEST"),
    )
