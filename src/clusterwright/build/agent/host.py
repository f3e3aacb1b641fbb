"""The host that the agent runs on: what is wanted, what earlier applies left, and how a command is run.

Standard library only, Python 3.6 or later.
"""

import json
import os
import subprocess
from typing import Any, Dict, List, Optional

STATE = "/var/lib/clusterwright"
COMMAND_S = 300  # one call starts all units of a host, each within systemd's own limit of 90 s

# The last: `systemctl enable` would run update-rc.d for each unit that still has an init script, and that makes
# systemd read all its files each time (systemd, ENVIRONMENT.md).
ENVIRONMENT = {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive", "SYSTEMCTL_SKIP_SYSV": "1"}

Json = Dict[str, Any]


class ChangeError(Exception):
    """A change that could not be made; the host's apply stops there."""


class Host:
    """This host below `root`, what earlier applies left on it, and what is wanted now."""

    def __init__(self, bundle: Json) -> None:
        self.root = str(bundle["root"]).rstrip("/")
        self.bundle = bundle
        self.resources = bundle["resources"]  # type: List[Json]
        self.notes = []  # type: List[str]
        receipt = read(self.at(STATE + "/receipt.json"))
        self.receipt = json.loads(receipt.decode()) if receipt else {"files": {}, "units": []}  # type: Json
        journal = (read(self.at(STATE + "/journal.jsonl")) or b"").decode().splitlines()
        self.owed = {line["doing"] for line in map(whole_json, journal) if "doing" in line}
        self.interrupted = read(self.at(STATE + "/journal.jsonl")) is not None

    def at(self, path: str) -> str:
        """The path below our root."""
        return self.root + path


def read(path: str) -> Optional[bytes]:
    """The file's bytes, or None where there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        return None


def whole_json(line: str) -> Json:
    """A journal line, or nothing for the one that a crash cut short."""
    try:
        return dict(json.loads(line))
    except ValueError:
        return {}


def run(argv: List[str], limit: int = COMMAND_S) -> "subprocess.CompletedProcess[str]":
    """Run a command; what it says comes in English and in one stream."""
    try:
        return subprocess.run(
            argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            universal_newlines=True,
            timeout=limit,
            env=dict(os.environ, **ENVIRONMENT),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as why:
        return subprocess.CompletedProcess(argv, 127, str(why))


def must(argv: List[str], limit: int = COMMAND_S) -> str:
    """Run a command that has to end well; else its own last lines are the reason."""
    done = run(argv, limit)
    if done.returncode != 0:
        last = "\n".join(str(done.stdout).strip().splitlines()[-8:])
        raise ChangeError(f"`{' '.join(argv)}` ended with {done.returncode}:\n{last}")
    return str(done.stdout)
