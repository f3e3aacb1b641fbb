"""A link carries packets to the host and none from it; all links unless a network is named."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.faults import links
from clusterwright.lab.inside import inside, must
from clusterwright.lab.layout import LabHost, Link
from clusterwright.lab.state import LabState

OPTIONS = ("network",)
LASTS = True


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """As with one fibre of two: the carrier stays, requests come in, and no answer leaves."""
    for link in links(host, options):
        must(lab, host, "nft", _rules(link))
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Both directions again; a host that was booted meanwhile has them already."""
    for link in links(host, options):
        inside(lab, host, "nft", f"delete table netdev {_table(link)}")
    return lab


def _table(link: Link) -> str:
    return f"half_open_{link.network}"


def _rules(link: Link) -> str:
    """A table of its own: neither the host's firewall nor an apply knows of it."""
    name = _table(link)
    hook = f"type filter hook egress device {link.network} priority 0;"
    return f"add table netdev {name}; add chain netdev {name} out {{ {hook} policy drop; }}"
