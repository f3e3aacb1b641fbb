"""The host that the agent runs on: what is wanted, what earlier applies left, and how a command is run.

Standard library only, Python 3.6 or later.
"""

import json
import os
from typing import Any, Dict, List, Optional, Set

from clusterwright.onhost.lib import processes

STATE = "/var/lib/clusterwright"
COMMAND_S = 300  # one call starts all units of a host, each within systemd's own limit of 90 s

# SYSTEMCTL_SKIP_SYSV: `systemctl enable` would run update-rc.d for each unit that still has an init script, and that
# makes systemd read all its files each time (systemd, ENVIRONMENT.md). NEEDRESTART_SUSPEND: on Ubuntu apt would
# restart daemons by itself, slurmd among them (needrestart(1)); what is restarted is ours to say.
ENVIRONMENT = {
    "LC_ALL": "C",
    "DEBIAN_FRONTEND": "noninteractive",
    "SYSTEMCTL_SKIP_SYSV": "1",
    "NEEDRESTART_SUSPEND": "1",
}

Json = Dict[str, Any]


class ChangeError(Exception):
    """A change that could not be made; the host's apply stops there.

    `fault_domain` says whose fault it is: the `change`'s, which would fail on other hosts too, or this `host`'s own.
    """

    def __init__(self, message: str, fault_domain: str = "change") -> None:
        super().__init__(message)
        self.blame = fault_domain


class Host:
    """This host below `root`, what earlier applies left on it, and what is wanted now."""

    def __init__(self, bundle: Json) -> None:
        self.root = str(bundle["root"]).rstrip("/")
        self.bundle = bundle
        self.resources = bundle["resources"]  # type: List[Json]
        self.shared = {resource["id"] for resource in self.resources if "content_of" in resource}
        for resource in self.resources:
            if "content_of" in resource:  # it is sent once, for all hosts and files
                resource["content"] = bundle["contents"][resource.pop("content_of")]
        self.notes = []  # type: List[str]
        receipt = read(self.resolve_path(STATE + "/receipt.json"))
        self.receipt = json.loads(receipt.decode()) if receipt else {"files": {}, "units": []}  # type: Json
        journal = (read(self.resolve_path(STATE + "/journal.jsonl")) or b"").decode().splitlines()
        lines = [line for line in map(parse_journal_line, journal) if line]
        # files that were written, and units that were started, since the receipt
        self.written = {line["doing"][5:]: line["sha256"] for line in lines if "sha256" in line}
        self.started = [line["doing"][5:] for line in lines if line.get("doing", "").startswith("unit:")]
        settled = [index for index, line in enumerate(lines) if "settled" in line]
        lines = [line for line in lines[settled[-1] if settled else 0 :] if "doing" in line]
        self.owed = {line["doing"] for line in lines}
        # what a reload covers, unless the same thing was changed for more as well
        reload_only = {line["doing"] for line in lines if line.get("cost") == "reconfigure"}
        self.owed_reloads = reload_only - {
            line["doing"] for line in lines if line.get("cost") != "reconfigure"
        }
        self.touched: Set[str] = set()  # folders in which a name has changed
        self.states = {}  # type: Json  # of units, as the plan saw them
        self.saved_ids: Set[str] = set()  # what this apply has kept of the host as it was
        self.digests: Optional[Dict[str, str]] = None  # of the resources, once they are worked out
        self.unwritten: List[str] = []  # lines of what was kept, not on disk yet
        self.answers = {}  # type: Json  # of the daemon that keeps the accounts
        self.interrupted = read(self.resolve_path(STATE + "/journal.jsonl")) is not None

    def resolve_path(self, path: str) -> str:
        """The path below our root."""
        return self.root + path


def read(path: str) -> Optional[bytes]:
    """The file's bytes, or None where there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        return None


def text_of(data: bytes) -> str:
    """A file's content as it travels in JSON: bytes that are no UTF-8 become lone surrogates (PEP 383)."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The content of `text_of`."""
    return text.encode("utf-8", "surrogateescape")


def parse_journal_line(line: str) -> Json:
    """A journal line, or nothing for the one that a crash cut short."""
    try:
        return dict(json.loads(line))
    except ValueError:
        return {}


def run(argv: List[str], limit: int = COMMAND_S) -> processes.Result:
    """Run a command; what it prints comes in English and in one stream."""
    result = processes.run(argv, limit, env=dict(os.environ, **ENVIRONMENT), merge=True)
    return result._replace(out=f"{argv[0]}: {result.stopped}") if result.stopped else result


def must(argv: List[str], limit: int = COMMAND_S) -> str:
    """Run a command that has to end well; else its own last lines are the reason."""
    result = run(argv, limit)
    if not result.ok:
        last = "\n".join(result.out.strip().splitlines()[-8:])
        raise ChangeError(f"`{' '.join(argv)}` ended with {result.code}:\n{last}")
    return result.out
