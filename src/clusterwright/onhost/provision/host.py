"""The host that the agent runs on: its desired state, the records of earlier applies, and how commands run.

Standard library only, Python 3.6 or later.
"""

import json
import os
import sys
import zlib
from typing import Any, Dict, List, Optional, Set

from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.safe_reader import parse_object
from clusterwright.onhost.lib.versioned import Damaged, Kind, NewerSchema, set_aside
from clusterwright.onhost.provision.state_files import JOURNAL, RECEIPT

STATE = "/var/lib/clusterwright"
RECEIPT_LOST = "files and units that left the cluster file since the last apply are not removed"
COMMAND_S = 300  # one call starts all units of a host, each within systemd's own limit of 90 s

# SYSTEMCTL_SKIP_SYSV: `systemctl enable` would run update-rc.d for each unit that still has an init script, and that
# makes systemd read all its files each time (systemd, ENVIRONMENT.md). NEEDRESTART_SUSPEND: on Ubuntu apt would
# restart daemons by itself, slurmd among them (needrestart(1)); the agent decides what restarts.
ENVIRONMENT = {
    "LC_ALL": "C",
    "DEBIAN_FRONTEND": "noninteractive",
    "SYSTEMCTL_SKIP_SYSV": "1",
    "NEEDRESTART_SUSPEND": "1",
}

Json = Dict[str, Any]


class ChangeError(Exception):
    """A change that failed; the host's apply stops there.

    `fault_domain` is `change` for a change that would fail on other hosts too, or `host` for a cause on this
    host alone.
    """

    def __init__(self, message: str, fault_domain: str = "change") -> None:
        super().__init__(message)
        self.fault_domain = fault_domain


class LocalHost:
    """This host, or in tests the folder `root`: its desired resources and the records of earlier applies."""

    def __init__(self, bundle: Json) -> None:
        self.root = str(bundle["root"]).rstrip("/")
        self.bundle = bundle
        self.resources = bundle["resources"]  # type: List[Json]
        self.shared = {resource["id"] for resource in self.resources if "content_of" in resource}
        for resource in self.resources:
            if "content_of" in resource:  # contents that several files share are sent once
                resource["content"] = bundle["contents"][resource.pop("content_of")]
        self.notes = []  # type: List[str]
        self.damaged = []  # type: List[str]
        self.refusal = ""  # why this version must not touch the state on this host
        self.receipt, lines = {}, []  # type: Json, List[Json]
        try:
            self.receipt = self.load(RECEIPT, STATE + "/receipt.json", RECEIPT_LOST)
            lines = self.journal_lines()
        except (ChangeError, OSError) as error:
            self.refusal = str(error)
        self.receipt = self.receipt or {"files": {}, "units": []}
        # files written and units started by an apply that was interrupted before it wrote a receipt
        self.written = {line["doing"][5:]: line["sha256"] for line in lines if "sha256" in line}
        self.started = [line["doing"][5:] for line in lines if line.get("doing", "").startswith("unit:")]
        settled = [index for index, line in enumerate(lines) if "settled" in line]
        lines = [line for line in lines[settled[-1] if settled else 0 :] if "doing" in line]
        self.owed = {line["doing"] for line in lines}
        # inputs of units that need only a reload, unless another change of them needs a restart
        reload_only = {line["doing"] for line in lines if line.get("cost") == "reconfigure"}
        self.owed_reloads = reload_only - {
            line["doing"] for line in lines if line.get("cost") != "reconfigure"
        }
        self.touched: Set[str] = set()  # folders with a created, replaced or removed entry
        self.safe_folders: Set[str] = set()  # root alone can exchange them; see files.trusted_folder
        self.states = {}  # type: Json  # of units, at the time of the plan
        self.saved_ids: Set[str] = set()  # ids whose previous state this apply has saved
        self.digests: Optional[Dict[str, str]] = None  # of the resources, once computed
        self.unwritten: List[str] = []  # lines of before.jsonl that are not on disk yet
        self.answers = {}  # type: Json  # of slurmdbd
        self.interrupted = os.path.lexists(self.resolve_path(STATE + "/journal.jsonl"))

    def resolve_path(self, path: str) -> str:
        """Return the path below the folder that stands for the host's root."""
        return self.root + path

    def load(self, kind: Kind, path: str, consequence: str) -> Json:
        """Return a document of earlier applies; empty if it is missing, or damaged: then an apply sets it aside.

        Raises:
            ChangeError: a newer version wrote it.
            OSError: it cannot be read.
        """
        data = read(self.resolve_path(path))
        if data is None:
            return {}
        try:
            return kind.parse(data, path)
        except NewerSchema as error:
            raise ChangeError("%s. Use the version that wrote it" % error, "host") from None
        except Damaged as error:
            new_path = set_aside(self.resolve_path(path)) if self.bundle["mode"] == "apply" else ""
            renamed = "is now " + new_path[len(self.root) :] if new_path else "apply renames it"
            self.damaged.append(path)
            self.notes.append("%s: %s, and continues without it; %s" % (error, renamed, consequence))
            return {}

    def begin_line(self) -> Json:
        """Return the first entry that this apply writes to the journal: its time, source and schema."""
        return {"begin": self.bundle["when"], "from": self.bundle["source"], "schema": JOURNAL.schema}

    def journal_lines(self) -> List[Json]:
        """Return the lines of an interrupted apply; those that a crash truncated belong to changes not made.

        Raises:
            ChangeError: the apply was one of a newer version.
        """
        path = STATE + "/journal.jsonl"
        lines = list(map(parse_object, (read(self.resolve_path(path)) or b"").splitlines()))
        try:
            for line in lines:
                if "begin" in line:
                    JOURNAL.parse(json.dumps(line), path)
        except NewerSchema as error:
            raise ChangeError("%s. Complete that apply with it" % error, "host") from None
        except Damaged:
            pass
        return [line for line in lines if isinstance(line.get("doing"), str) or "settled" in line]


def read(path: str) -> Optional[bytes]:
    """Return the content of a file as bytes; None if it, its folder or its process does not exist."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        return None


def text_of(data: bytes) -> str:
    """Return a file's content as text for JSON: bytes that are not UTF-8 become lone surrogates (PEP 383)."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """Return the bytes of a file's content that `text_of` decoded for JSON."""
    return text.encode("utf-8", "surrogateescape")


def read_bundle(data: bytes) -> Json:
    """Return the decoded input of the agent; end the process with a message if it is damaged."""
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data)
        if unpacker.eof and not unpacker.unused_data:
            return dict(json.loads(text.decode()))
        problem = "it has trailing data" if unpacker.eof else "its end is missing"
    except (ValueError, TypeError, zlib.error) as error:
        problem = str(error)
    sys.exit(f"the input is damaged, and nothing was changed: {problem}")


def run(argv: List[str], limit: int = COMMAND_S) -> processes.Result:
    """Run a command on this host, at most `limit` seconds, with English output and both streams in one.

    A command that is stopped, or does not start, has its reason as output; nothing is raised.
    """
    result = processes.run(argv, limit, env=dict(os.environ, **ENVIRONMENT), merge=True)
    return result._replace(out=f"{argv[0]}: {result.stopped}") if result.stopped else result


def must(argv: List[str], limit: int = COMMAND_S) -> str:
    """Run a command and return its output; raise ChangeError with its last lines unless it succeeds."""
    result = run(argv, limit)
    refuse_failed(argv, result)
    return result.out


def refuse_failed(argv: List[str], result: processes.Result) -> None:
    """Raise ChangeError with the last lines of a command's output unless it succeeded."""
    if not result.ok:
        last = "\n".join(result.out.strip().splitlines()[-8:])
        raise ChangeError(f"`{' '.join(argv)}` exited with code {result.code}:\n{last}")
