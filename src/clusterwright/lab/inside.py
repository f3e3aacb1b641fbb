"""A command inside a host, without its network: what breaks a host must not need what it breaks."""

from __future__ import annotations

from clusterwright.edge.processes import Done, run
from clusterwright.errors import WrightError
from clusterwright.lab import boot
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

LIMIT_S = 60


def first_of(lab: LabState, host: LabHost) -> int:
    """The host's process 1, as this machine numbers it.

    Raises:
        WrightError: the host is down.
    """
    keeper = lab.processes.get(host.name)
    first = boot.init_of(keeper) if keeper else None
    if first is None:
        raise WrightError.of("lab-host-down", f"{host.name} is down", f"wright lab fault undo {host.name}")
    return first


def inside(lab: LabState, host: LabHost, *argv: str) -> Done:
    """The command, as root among all that the host runs.

    Raises:
        WrightError: the host is down.
    """
    first = first_of(lab, host)
    enter = ("nsenter", f"--target={first}", "--mount", "--uts", "--ipc", "--net", "--pid", "--")
    return run((*enter, *argv), timeout_s=LIMIT_S)


def must(lab: LabState, host: LabHost, *argv: str) -> None:
    """The command, which has to succeed.

    Raises:
        WrightError: it did not; with what it said.
    """
    done = inside(lab, host, *argv)
    if not done.ok:
        raise WrightError.of(
            "lab-command", f"{' '.join(argv)} on {host.name}: {done.last_lines()}", "see `wright lab status`"
        )
