"""Learn the Slurm cluster of this machine or of a login host, and keep what was learned in the user's cache."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from clusterwright.config.cluster import Cluster, Unmanaged
from clusterwright.edge import slurm
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.files import write_file_atomic
from clusterwright.edge.processes import CommandResult, run
from clusterwright.edge.ssh import Ssh, ThisMachine
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.launch.unmanaged.learn import Texts, learn
from clusterwright.launch.unmanaged.shared import SHARED_VARIABLE, find_shared
from clusterwright.onhost.lib.safe_names import random_mark
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS, parse_document, read_text
from clusterwright.provision.apply import login_of
from clusterwright.slurm import client
from clusterwright.units import MiB

KEPT_S = 600.0  # nodes come and go; a question to Slurm takes a second
_SCHEMA = 1
_CACHE_BYTES = 64 * MiB  # records of 10,000 nodes have 10 MiB
_ASK_S, _PING_S = 60.0, 15.0
_NO_SLURM = 127  # of a shell: no such command
# Nodes may be known to Slurm by names; a site's resolver knows thousands of them in a second.
_ADDRESSES = (
    "scontrol show node -o | grep -o ' NodeAddr=[^ ]*' | cut -d = -f 2 | sort -u | head -n 4096"
    " | xargs -r getent ahostsv4 | cut -d ' ' -f 1 | sort -u"
)


@dataclass(frozen=True, slots=True)
class Learned:
    """What is kept of a cluster: Slurm's texts, the folder above that of runs, Python, and when Slurm was asked (s)."""

    texts: Texts
    shared: str
    python: str
    time: float


def has_slurm() -> bool:
    """Return True if Slurm on this machine reaches slurmctld; without a configuration it fails within milliseconds."""
    return shutil.which("scontrol") is not None and run(client.ping(), timeout_s=_PING_S).ok


def learned_cluster(access: Unmanaged, *, clock: Clock | None = None) -> Cluster:
    """Return the cluster of a login host, or of this machine; asks Slurm at most every ten minutes.

    Raises:
        WrightError: the host does not answer, has no Slurm, or no folder that nodes can read.
    """
    now, file = (clock or SystemClock()).now(), cache_file(access)
    kept = _kept(file)
    if (
        kept is None
        or not 0 <= now - kept.time < KEPT_S
        or os.environ.get(SHARED_VARIABLE, kept.shared) != kept.shared
    ):
        kept = _learned(access, kept, now)
        write_file_atomic(file, json.dumps({"schema": _SCHEMA, **asdict(kept)}), mode=0o600)
    return learn(kept.texts, kept.shared, access, kept.python)


def cache_file(access: Unmanaged) -> Path:
    """Return the file in the user's cache with what was learned of a login host, or of this machine."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = "@".join(filter(None, (access.user, access.login))) or "here"
    return Path(base, "clusterwright", "slurm", f"{name}.json")


def _kept(file: Path) -> Learned | None:
    """Return what was learned before; None if nothing was, or by another version."""
    try:
        document = parse_document(read_text(file, _CACHE_BYTES))
        if document.pop("schema") != _SCHEMA:
            return None
        return Learned(Texts(**document.pop("texts")), **document)
    except (*DATA_ERRORS, OSError):
        return None


def _learned(access: Unmanaged, earlier: Learned | None, now: float) -> Learned:
    remote, name = login_of(access), access.login or "localhost"
    texts, python = _ask(remote, name)
    named = os.environ.get(SHARED_VARIABLE)
    shared = (
        earlier.shared if earlier and named in (None, earlier.shared) else find_shared(remote, name, named)
    )
    return Learned(texts, shared, python, now)


def _ask(remote: Ssh | ThisMachine, name: str) -> tuple[Texts, str]:
    """Read everything in one shell; return Slurm's texts and the path of the user's Python."""
    mark = random_mark()
    questions = (
        client.line(client.show_config()),
        client.line(client.show_nodes()),
        client.line(client.show_partitions()),
        _ADDRESSES,
        "hostname -s",
        "command -v python3",
    )
    needed = f"command -v scontrol >/dev/null || exit {_NO_SLURM}; "
    parts = [f"{{ {question}; }} </dev/null || exit; echo {shlex.quote(mark)}" for question in questions[:3]]
    parts += [f"{{ {question}; }} </dev/null; echo {shlex.quote(mark)}" for question in questions[3:]]
    result = remote.run(name, needed + "; ".join(parts), timeout_s=_ASK_S)
    _require_slurm(result, name)
    config, nodes, partitions, addresses, host, python, *_rest = (
        text.strip("\n") for text in slurm.checked(result, name, "scontrol").out.split(mark)
    )
    return Texts(config, nodes, partitions, addresses, host), python or "python3"


def _require_slurm(result: CommandResult, host: str) -> None:
    if result.code == _NO_SLURM:
        raise WrightError.from_code(
            "no-slurm",
            _("{host} has no Slurm commands", host=host),
            _("name a login host of the cluster with --cluster ssh://HOST, or its file with --cluster FILE"),
        )
