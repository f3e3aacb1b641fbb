"""List, verify and convert the checkpoints of a run, on this machine or with one ssh on a host of the cluster."""

from __future__ import annotations

import base64
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.edge.answers import parse_answer
from clusterwright.edge.bundler import CHECKPOINTS, RUNS, bundle_script
from clusterwright.edge.host import Host
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch.command import library_of
from clusterwright.launch.listing import no_run
from clusterwright.launch.run import runs_folder
from clusterwright.onhost.runs import run_checkpoints, run_jobs

LIMIT_S = 86_400  # every byte of a large checkpoint may be read over a slow network
NO_PROGRAM = 127  # exit code of a shell for an unknown command
USAGE = frozenset(
    {"checkpoint-no-folder", "checkpoint-no-step", "checkpoint-form", "checkpoint-target-there"}
)


@dataclass(frozen=True, slots=True)
class CheckpointHost:
    """A host of a cluster that sees the checkpoints, and the connection to it; default: the control host."""

    cluster: Cluster
    remote: Remote
    host: str = ""

    def run_action(self, action: str, run_or_folder: str, options: dict[str, Any]) -> dict[str, Any]:
        """Run an action of run_checkpoints.py, such as `list`, on the host, and return its JSON result.

        The name of a run or the path of a folder selects the checkpoints.

        Raises:
            WrightError: there is no such run, no Python or torch on the host, or no answer.
        """
        host = self.host or self.cluster.control.name
        # All actions except list import the runtime, and everything else, from the library on the host.
        source = Path(run_checkpoints.__file__)
        texts = [bundle_script(RUNS), bundle_script(CHECKPOINTS) if action == "list" else source.read_bytes()]
        stdin = b"".join(base64.b64encode(text) + b"\n" for text in texts)
        result = Host(self.remote, host).run(
            self._command(action, run_or_folder, options), stdin=stdin, timeout_s=LIMIT_S
        )
        if result.code == run_jobs.NO_RUN:
            raise no_run(run_or_folder, self.cluster, runs_folder(self.cluster), self.remote)
        if result.code == NO_PROGRAM:
            message = _("{host} has no {python}", host=host, python=self.cluster.software.python)
            raise _wrong(
                "checkpoint-no-torch", message, _("choose a host that has this Python: --host gpu-node1")
            )
        return parse_answer(checked(result, host, "python"), host)

    def _command(self, action: str, run_or_folder: str, options: dict[str, Any]) -> str:
        """Return the shell line; its stdin has two one-line scripts: find the folder, run the action in it."""
        python = "python3" if action == "list" else shlex.quote(self.cluster.software.python)
        find = shlex.join(["python3", "-I", "-", "find", runs_folder(self.cluster), run_or_folder])
        folder = (
            shlex.quote(run_or_folder)
            if run_or_folder.startswith("/")
            else f'$(printf %s "$find" | base64 -d | {find})'
        )
        library = shlex.quote(library_of(self.cluster))
        return (
            f"IFS= read -r find; IFS= read -r act; where={folder} || exit; "
            f'printf %s "$act" | base64 -d | PYTHONPATH={library} {python} - {action} "$where" '
            f"{shlex.quote(json.dumps(options))}"
        )


def listing(run_or_folder: str, checkpoint_host: CheckpointHost | None = None) -> dict[str, Any]:
    """Return the checkpoints of a run or folder, newest first, in a report.

    Its keys are `checkpoints`, `partial`, `save_total_limit` and `folder`.
    """
    return _run_action("list", run_or_folder, {}, checkpoint_host)


def verify(
    run_or_folder: str,
    checkpoint_host: CheckpointHost | None = None,
    *,
    step: int | None = None,
    everything: bool = False,
) -> dict[str, Any]:
    """Verify the checksums of a run's newest checkpoint, of one step, or of `everything`; return the outcomes as JSON.

    It runs on the host of `checkpoint_host`, else on this machine. Damage is an outcome and not raised.
    """
    return _run_action("verify", run_or_folder, {"step": step, "everything": everything}, checkpoint_host)


def convert(
    source: str, target: str, checkpoint_host: CheckpointHost | None = None, **how: str | None
) -> dict[str, Any]:
    """Convert a checkpoint; return what was written and what was not converted. `how`: `to` or `origin`, and `name`."""
    return _run_action("convert", source, {"target": target, **how}, checkpoint_host)


def _run_action(
    action: str, run_or_folder: str, options: dict[str, Any], checkpoint_host: CheckpointHost | None
) -> dict[str, Any]:
    """Run an action of run_checkpoints and return its JSON result.

    Raises:
        WrightError: the action failed.
    """
    if checkpoint_host:
        document = checkpoint_host.run_action(action, run_or_folder, options)
    else:
        document = run_checkpoints.answer(run_checkpoints.ACTIONS[action], run_or_folder, **options)
    if "trouble" in document:
        raise _wrong(*(str(document.get(key, "")) for key in ("trouble", "message", "fix")))
    return dict(document)


def _wrong(code: str, message: str, fix: str) -> WrightError:
    return WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE if code in USAGE else 1)
