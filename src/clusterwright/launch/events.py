"""What a run wrote about itself, read from its folder here or on a host."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.host import Host
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.launch.run import Ended, Run
from clusterwright.onhost.lib.json_lines import FILE_BYTES
from clusterwright.onhost.lib.safe_reader import read_text

READ_LIMIT_S = 60


@dataclass(frozen=True, slots=True)
class RemoteReader:
    """A host that sees the run's folder, and the way to it."""

    remote: Remote
    host: str

    def text(self, folder: str, pattern: str) -> str:
        """The files of that pattern in the folder, each ended by a newline: the last line of one may be torn."""
        command = f"cd {shlex.quote(folder)} && for file in {pattern}; do [ -e $file ] && cat $file && echo; done; true"
        return checked(
            Host(self.remote, self.host).run(command, timeout_s=READ_LIMIT_S), self.host, "cat"
        ).out


@dataclass(frozen=True, slots=True)
class LocalReader:
    """This machine has the run's folder."""

    def text(self, folder: str, pattern: str) -> str:
        """The files of that pattern in the folder, each ended by a newline: the last line of one may be torn."""
        return "\n".join(read_text(path, FILE_BYTES) for path in sorted(Path(folder).glob(pattern)))


def events(run: Run, reader: RemoteReader | LocalReader) -> tuple[dict[str, Any], ...]:
    """All events so far, by time; a line that a dying host left half written is passed over."""
    return parse_events(reader.text(run.folder, "events/*.jsonl").splitlines())


def parse_events(lines: Iterable[str]) -> tuple[dict[str, Any], ...]:
    """The events of the lines, by time."""
    records = [event for event in map(_event, lines) if event]
    return tuple(sorted(records, key=lambda event: event["time"]))


def ended(run: Run, reader: RemoteReader | LocalReader) -> Ended | None:
    """How the run ended; None while it goes on."""
    document = _object(reader.text(run.folder, "ended.json"))
    return Ended(str(document.get("outcome")), str(document.get("reason", ""))) if document else None


def wait(
    run: Run,
    reader: RemoteReader | LocalReader,
    *,
    limit_s: float,
    clock: Clock | None = None,
    poll_s: float = 1.0,
) -> Ended:
    """How the run ended, once it has, successors and all.

    Raises:
        WrightError: it did not end within the limit.
    """
    watch = clock or SystemClock()
    deadline = watch.monotonic() + limit_s
    while watch.monotonic() < deadline:
        end = ended(run, reader)
        if end is not None:
            return end
        watch.sleep(poll_s)
    raise WrightError.from_code(
        "run-not-ended",
        _("run {run} did not end within {limit_s:.0f} s", run=run.name, limit_s=limit_s),
        _("see what it does: wright logs -f {run}", run=run.name),
    )


def _event(line: str) -> dict[str, Any]:
    event = _object(line)
    return event if isinstance(event.get("time"), int | float) else {}


def _object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
