"""Read the events and the outcome of a run from its folder, on this machine or on a host."""

from __future__ import annotations

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
from clusterwright.launch.run import Ended, RunFolder
from clusterwright.onhost.lib.json_lines import FILE_BYTES
from clusterwright.onhost.lib.safe_reader import parse_object, read_text
from clusterwright.units import human_duration

READ_LIMIT_S = 60


@dataclass(frozen=True, slots=True)
class RemoteReader:
    """Reads files of a run's folder on a host, over SSH."""

    remote: Remote
    host: str

    def text(self, folder: str, pattern: str) -> str:
        """Return the joined text of the folder's files that match the pattern, each followed by a newline.

        The last line of a file may be incomplete. Empty if no file matches.
        """
        command = f"cd {shlex.quote(folder)} && for file in {pattern}; do [ -e $file ] && cat $file && echo; done; true"
        return checked(
            Host(self.remote, self.host).run(command, timeout_s=READ_LIMIT_S), self.host, "cat"
        ).out


@dataclass(frozen=True, slots=True)
class LocalReader:
    """Reads files of a run's folder on this machine."""

    def text(self, folder: str, pattern: str) -> str:
        """Return the joined text of the folder's files that match the pattern, with a newline between them.

        The last line of a file may be incomplete. Empty if no file matches.
        """
        return "\n".join(read_text(path, FILE_BYTES) for path in sorted(Path(folder).glob(pattern)))


def events(run: RunFolder, reader: RemoteReader | LocalReader) -> tuple[dict[str, Any], ...]:
    """Return all events so far, by time; incomplete lines of lost hosts are ignored."""
    return parse_events(reader.text(run.folder, "events/*.jsonl").splitlines())


def parse_events(lines: Iterable[str]) -> tuple[dict[str, Any], ...]:
    """Return the events of JSON lines, sorted by time; other lines are ignored."""
    records = [event for event in map(_event, lines) if event]
    return tuple(sorted(records, key=lambda event: event["time"]))


def ended(run: RunFolder, reader: RemoteReader | LocalReader) -> Ended | None:
    """Return the outcome of the run from its ended.json; None while the run continues."""
    document = parse_object(reader.text(run.folder, "ended.json"))
    return Ended(str(document.get("outcome")), str(document.get("reason", ""))) if document else None


def wait(
    run: RunFolder,
    reader: RemoteReader | LocalReader,
    *,
    limit_s: float,
    clock: Clock | None = None,
    poll_s: float = 1.0,
) -> Ended:
    """Wait for the end of the run, including successor jobs, and return its outcome; poll every `poll_s` seconds.

    Raises:
        WrightError: it did not end within `limit_s` seconds.
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
        _("run {run} did not end within {limit}", run=run.name, limit=human_duration(limit_s)),
        _("follow the run's logs: wright logs -f {run}", run=run.name),
    )


def _event(line: str) -> dict[str, Any]:
    event = parse_object(line)
    return event if isinstance(event.get("time"), int | float) else {}
