"""Run commands inside a host without its network: a fault must not depend on what it breaks."""

from __future__ import annotations

from clusterwright.edge.processes import CommandResult, run
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab import boot
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

LIMIT_S = 60


def first_of(lab: LabState, host: LabHost) -> int:
    """Return the PID, on this machine, of the host's process 1.

    Raises:
        WrightError: The host is down.
    """
    keeper = lab.processes.get(host.name)
    init_pid = boot.init_of(keeper) if keeper else None
    if init_pid is None:
        raise WrightError.from_code(
            "lab-host-down",
            _("the lab host {host} is down", host=host.name),
            _("wright lab fault undo {host}", host=host.name),
        )
    return init_pid


def inside(lab: LabState, host: LabHost, *argv: str) -> CommandResult:
    """Run the command in the host as root, at most LIMIT_S seconds, and return its result.

    Raises:
        WrightError: The host is down.
    """
    init_pid = first_of(lab, host)
    enter = ("nsenter", f"--target={init_pid}", "--mount", "--uts", "--ipc", "--net", "--pid", "--")
    return run((*enter, *argv), timeout_s=LIMIT_S)


def must(lab: LabState, host: LabHost, *argv: str) -> None:
    """Run the command in the host and raise an error if it fails.

    Raises:
        WrightError: It failed; has its output.
    """
    result = inside(lab, host, *argv)
    if not result.ok:
        raise WrightError.from_code(
            "lab-command",
            _(
                "{argv} on {host}: {last_lines}",
                argv=" ".join(argv),
                host=host.name,
                last_lines=result.last_lines(),
            ),
            _("see `wright lab status`"),
        )
