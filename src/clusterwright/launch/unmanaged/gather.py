"""Learn the Slurm cluster of this machine or of a login host, and cache what was learned for its user."""

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
from clusterwright.edge.files import cache_folder, read_cached, write_file_atomic
from clusterwright.edge.host import Host
from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.launch.unmanaged.learn import SlurmTexts, learn
from clusterwright.launch.unmanaged.shared import SHARED_VARIABLE, find_shared
from clusterwright.onhost.lib.safe_names import random_mark
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS, parse_document
from clusterwright.provision.apply import login_of
from clusterwright.slurm import client
from clusterwright.slurm.nodes import parse_nodes
from clusterwright.units import MiB

CACHE_S = 600.0  # nodes come and go; a question to Slurm takes a second
_SCHEMA = 1
_CACHE_BYTES = 64 * MiB  # records of 10,000 nodes have 10 MiB
_QUERY_S, _PING_S = 60.0, 15.0
_EXIT_NO_COMMAND = 127  # exit code of a shell: no such command


@dataclass(frozen=True, slots=True)
class Learned:
    """Cached facts of a cluster: Slurm's texts, folder above that of runs, Python, time of the query (s)."""

    texts: SlurmTexts
    shared: str
    python: str
    time: float


def has_slurm() -> bool:
    """Return True if Slurm on this machine reaches slurmctld; without a configuration it fails within milliseconds."""
    ping = client.ping()
    return shutil.which(ping[0]) is not None and run(ping, timeout_s=_PING_S).ok


def learned_cluster(access: Unmanaged, *, clock: Clock | None = None) -> Cluster:
    """Return the cluster of a login host, or of this machine; queries Slurm at most every ten minutes.

    Raises:
        WrightError: the host does not answer, has no Slurm, or no folder that nodes can read.
    """
    now, file = (clock or SystemClock()).now(), cache_file(access)
    cached, named = _cached(file), os.environ.get(SHARED_VARIABLE)
    if cached is None or not 0 <= now - cached.time < CACHE_S or named not in (None, cached.shared):
        cached = _query(access, cached, named, now)
        write_file_atomic(file, json.dumps({"schema": _SCHEMA, **asdict(cached)}), mode=0o600)
    return learn(cached.texts, cached.shared, access, cached.python)


def cache_file(access: Unmanaged) -> Path:
    """Return the file in the user's cache with what was learned of a login host, or of this machine."""
    name = "@".join(filter(None, (access.user, access.login))) or "here"
    return cache_folder() / "slurm" / f"{name}.json"


def _cached(file: Path) -> Learned | None:
    """Return the cached facts; None if they cannot be read, or if another version wrote them."""
    try:
        document = parse_document(read_cached(file, _CACHE_BYTES))
        if document.pop("schema") != _SCHEMA:
            return None
        return Learned(SlurmTexts(**document.pop("texts")), **document)
    except (*DATA_ERRORS, OSError):
        return None


def _query(access: Unmanaged, cached: Learned | None, named: str | None, now: float) -> Learned:
    """Return what Slurm reports, with a shared folder, which is searched unless one is cached."""
    host = Host(login_of(access), access.login or "localhost")
    texts, python = _slurm_texts(host)
    shared = cached.shared if cached and named in (None, cached.shared) else find_shared(host, named)
    return Learned(texts, shared, python, now)


def _slurm_texts(host: Host) -> tuple[SlurmTexts, str]:
    """Read configuration, nodes and partitions of Slurm from a host, in one shell; resolve the nodes' addresses.

    Return them with the path of the user's Python.

    Raises:
        WrightError: the host does not respond or has no Slurm commands.
    """
    separator = random_mark()
    queries = [
        client.line(argv) for argv in (client.show_config(), client.show_nodes(), client.show_partitions())
    ]
    parts = [f"{query} </dev/null || exit; echo {separator}" for query in queries]
    parts += [f"{command}; echo {separator}" for command in ("hostname -s", "command -v python3")]
    result = host.run("; ".join(parts), timeout_s=_QUERY_S)
    if result.code == _EXIT_NO_COMMAND:
        raise WrightError.from_code(
            "no-slurm",
            _("{host} has no Slurm commands", host=host.name),
            _("name a login host of the cluster with --cluster ssh://HOST, or its file with --cluster FILE"),
        )
    out = slurm.checked(result, host.name, "scontrol").out
    config, nodes, partitions, name, python, *_extra = (text.strip("\n") for text in out.split(separator))
    return SlurmTexts(config, nodes, partitions, _addresses(host, nodes), name), python or "python3"


def _addresses(host: Host, nodes: str) -> str:
    """Return the IPv4 addresses of the nodes, one per line, as the login host resolves their NodeAddr."""
    names = sorted({node.record["NodeAddr"] for node in parse_nodes(nodes).values()} - {""})
    command = "xargs -r getent ahostsv4 | cut -d ' ' -f 1 | sort -u"
    return host.run(command, stdin="\n".join(map(shlex.quote, names)).encode(), timeout_s=_QUERY_S).out
