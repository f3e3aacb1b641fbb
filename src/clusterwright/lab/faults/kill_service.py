"""A daemon of a host is killed (SIGKILL) and stays dead until it is started; undo starts it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.lab.inside import inside, must
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS = ("service",)
LASTS = True
_NAME = re.compile(r"[A-Za-z0-9@_-]{1,100}")
_DROP_IN = "/run/systemd/system/{0}.service.d/lab.conf"


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Raise an error if the options name no service, or one that the host does not have."""
    name = options.get("service", "")
    if not _NAME.fullmatch(name) or not inside(lab, host, "systemctl", "cat", f"{name}.service").ok:
        raise WrightError.from_code(
            "lab-fault-option",
            _("{host} has no service `{name}`", host=host.name, name=name),
            _("name a service with --service, e.g. --service munge"),
            exit_code=EXIT_USAGE,
        )


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Kill the service of the options; systemd does not restart it until the fault is undone or the host boots."""
    name = options["service"]
    path = _DROP_IN.format(name)
    write = "mkdir -p ${1%/*} && printf '[Service]\\nRestart=no\\n' >$1 && systemctl daemon-reload"
    must(lab, host, "sh", "-c", write, "sh", path)
    inside(lab, host, "systemctl", "kill", "--signal=KILL", f"{name}.service")
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Start the killed service, and restore its own restart setting; return the lab's state.

    Harmless if the host has booted since.
    """
    name = options["service"]
    must(lab, host, "rm", "-f", _DROP_IN.format(name))
    must(lab, host, "systemctl", "daemon-reload")
    must(lab, host, "systemctl", "start", f"{name}.service")
    return lab
