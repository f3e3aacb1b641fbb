"""Power cut of a host: every process is gone at once, without a packet to peers; undo boots it again."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab import boot, cgroups, masters, network
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ()
LASTS = True


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Kill the host as by a power cut: cut its links, then kill all its processes; return the lab's state.

    Links first, as a dying process would still send FIN or RST.
    """
    network.set_links(host.links, up=False)
    if survivors := cgroups.kill(lab.name, host.name):
        raise WrightError.from_code(
            "lab-left-behind",
            _(
                "processes {survivors} of {host} are still running",
                survivors=sorted(survivors),
                host=host.name,
            ),
            _("run the command again"),
        )
    masters.close(lab.name, host.address)
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Boot the killed host from its disk and bring its links up; return the lab's state with its new process.

    Links that another fault cuts stay cut.
    """
    down_networks = {
        fault.options.get("network")
        for fault in lab.faults
        if fault.kind == "link-down" and fault.host == host.name
    }
    links = [link for link in host.links if not {None, link.network} & down_networks]
    network.set_links(links, up=True)
    return boot.start(lab, host)
