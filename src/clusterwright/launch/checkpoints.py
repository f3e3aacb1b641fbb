"""Checkpoints of a run, here or on a host that sees them: listed, verified, converted; each with one ssh."""

from __future__ import annotations

import base64
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.edge.bundler import CHECKPOINTS, RUNS, bundle_script
from clusterwright.edge.host import Host
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch.command import LIBRARY
from clusterwright.launch.run import runs_folder
from clusterwright.onhost.runs import run_checkpoints, run_jobs

LIMIT_S = 86_400  # every byte of a large checkpoint may be read over a slow network
NO_PROGRAM = 127  # what a shell says
USAGE = frozenset(
    {"checkpoint-no-folder", "checkpoint-no-step", "checkpoint-form", "checkpoint-target-there"}
)


@dataclass(frozen=True, slots=True)
class CheckpointHost:
    """Where the checkpoints are: a host of a cluster, and the way to it; the control host if none is named."""

    cluster: Cluster
    remote: Remote
    host: str = ""

    def run_action(self, action: str, run_or_folder: str, options: dict[str, Any]) -> str:
        """What run_checkpoints.py says on the host, of a run by its name or of a folder by its path."""
        host = self.host or self.cluster.control.name
        # All but the listing imports the runtime from the library on the host, and the rest from there as well.
        source = Path(run_checkpoints.__file__)
        texts = [bundle_script(RUNS), bundle_script(CHECKPOINTS) if action == "list" else source.read_bytes()]
        stdin = b"".join(base64.b64encode(text) + b"\n" for text in texts)
        result = Host(self.remote, host).run(
            self._command(action, run_or_folder, options), stdin=stdin, timeout_s=LIMIT_S
        )
        if result.code == run_jobs.NO_RUN:
            raise _wrong("checkpoint-no-folder", result.last_lines(1), _("wright jobs shows the runs"))
        if result.code == NO_PROGRAM:
            message = _("{host} has no {python}", host=host, python=self.cluster.software.python)
            raise _wrong("checkpoint-no-torch", message, _("name a host that has it: --host gpu-node1"))
        return checked(result, host, "python").out

    def _command(self, action: str, run_or_folder: str, options: dict[str, Any]) -> str:
        """The two scripts come as lines of stdin: one finds the folder of a run, the other looks into it."""
        python = "python3" if action == "list" else shlex.quote(self.cluster.software.python)
        find = shlex.join(["python3", "-", "find", runs_folder(self.cluster), run_or_folder])
        folder = (
            shlex.quote(run_or_folder)
            if run_or_folder.startswith("/")
            else f'$(printf %s "$find" | base64 -d | {find})'
        )
        return (
            f"IFS= read -r find; IFS= read -r act; where={folder} || exit; "
            f'printf %s "$act" | base64 -d | PYTHONPATH={LIBRARY} {python} - {action} "$where" '
            f"{shlex.quote(json.dumps(options))}"
        )


def listing(run_or_folder: str, checkpoint_host: CheckpointHost | None = None) -> dict[str, Any]:
    """The checkpoints of a run or folder, the newest first: `checkpoints`, `partial`, `save_total_limit`, `folder`."""
    return _run_action("list", run_or_folder, {}, checkpoint_host)


def verify(
    run_or_folder: str,
    checkpoint_host: CheckpointHost | None = None,
    *,
    step: int | None = None,
    everything: bool = False,
) -> dict[str, Any]:
    """The newest, one, or all, after every byte of them was read."""
    return _run_action("verify", run_or_folder, {"step": step, "everything": everything}, checkpoint_host)


def convert(
    source: str, target: str, checkpoint_host: CheckpointHost | None = None, **how: str | None
) -> dict[str, Any]:
    """What was written, and what could not be carried over; `how` is `to` or `origin`, and `name`."""
    return _run_action("convert", source, {"target": target, **how}, checkpoint_host)


def _run_action(
    action: str, run_or_folder: str, options: dict[str, Any], checkpoint_host: CheckpointHost | None
) -> dict[str, Any]:
    """The answer as an object.

    Raises:
        WrightError: whatever was wrong there.
    """
    if checkpoint_host:
        document = json.loads(checkpoint_host.run_action(action, run_or_folder, options))
    else:
        document = run_checkpoints.answer(run_checkpoints.ACTIONS[action], run_or_folder, **options)
    if "trouble" in document:
        raise _wrong(document["trouble"], document["message"], document["fix"])
    return dict(document)


def _wrong(code: str, message: str, fix: str) -> WrightError:
    return WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE if code in USAGE else 1)
