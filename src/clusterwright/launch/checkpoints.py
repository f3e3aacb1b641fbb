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
from clusterwright.launch.command import LIBRARY
from clusterwright.launch.run import runs_folder
from clusterwright.onhost.runs import run_checkpoints, run_jobs

LIMIT_S = 86_400  # every byte of a large checkpoint may be read over a slow network
NO_PROGRAM = 127  # what a shell says
USAGE = frozenset(
    {"checkpoint-no-folder", "checkpoint-no-step", "checkpoint-form", "checkpoint-target-there"}
)


@dataclass(frozen=True, slots=True)
class Seen:
    """Where the checkpoints are: a host of a cluster, and the way to it; the control host if none is named."""

    cluster: Cluster
    remote: Remote
    host: str = ""

    def ask(self, what: str, where: str, asked: dict[str, Any]) -> str:
        """What run_checkpoints.py says on the host, of a run by its name or of a folder by its path."""
        host = self.host or self.cluster.control.name
        # All but the listing imports the runtime from the library on the host, and the rest from there as well.
        source = Path(run_checkpoints.__file__)
        texts = [bundle_script(RUNS), bundle_script(CHECKPOINTS) if what == "list" else source.read_bytes()]
        stdin = b"".join(base64.b64encode(text) + b"\n" for text in texts)
        done = Host(self.remote, host).run(self._command(what, where, asked), stdin=stdin, timeout_s=LIMIT_S)
        if done.code == run_jobs.NO_RUN:
            raise _wrong("checkpoint-no-folder", done.last_lines(1), "wright jobs shows the runs")
        if done.code == NO_PROGRAM:
            message = f"{host} has no {self.cluster.software.python}"
            raise _wrong("checkpoint-no-torch", message, "name a host that has it: --host gpu-node1")
        return checked(done, host, "python").out

    def _command(self, what: str, where: str, asked: dict[str, Any]) -> str:
        """The two scripts come as lines of stdin: one finds the folder of a run, the other looks into it."""
        python = "python3" if what == "list" else shlex.quote(self.cluster.software.python)
        find = shlex.join(["python3", "-", "find", runs_folder(self.cluster), where])
        folder = shlex.quote(where) if where.startswith("/") else f'$(printf %s "$find" | base64 -d | {find})'
        return (
            f"IFS= read -r find; IFS= read -r act; where={folder} || exit; "
            f'printf %s "$act" | base64 -d | PYTHONPATH={LIBRARY} {python} - {what} "$where" '
            f"{shlex.quote(json.dumps(asked))}"
        )


def listing(where: str, seen: Seen | None = None) -> dict[str, Any]:
    """The checkpoints of a run or folder, the newest first: `checkpoints`, `partial`, `keep`, `folder`."""
    return _ask("list", where, {}, seen)


def verify(
    where: str, seen: Seen | None = None, *, step: int | None = None, everything: bool = False
) -> dict[str, Any]:
    """The newest, one, or all, after every byte of them was read."""
    return _ask("verify", where, {"step": step, "everything": everything}, seen)


def convert(source: str, target: str, seen: Seen | None = None, **how: str | None) -> dict[str, Any]:
    """What was written, and what could not be carried over; `how` is `to` or `origin`, and `name`."""
    return _ask("convert", source, {"target": target, **how}, seen)


def _ask(what: str, where: str, asked: dict[str, Any], seen: Seen | None) -> dict[str, Any]:
    """The answer as an object.

    Raises:
        WrightError: whatever was wrong there.
    """
    if seen:
        document = json.loads(seen.ask(what, where, asked))
    else:
        document = run_checkpoints.answer(run_checkpoints.ACTS[what], where, **asked)
    if "trouble" in document:
        raise _wrong(document["trouble"], document["message"], document["mend"])
    return dict(document)


def _wrong(code: str, message: str, mend: str) -> WrightError:
    return WrightError.of(code, message, mend, exit_code=EXIT_USAGE if code in USAGE else 1)
