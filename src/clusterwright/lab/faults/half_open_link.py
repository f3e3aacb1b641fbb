"""Half-open link: packets reach the host, none leave it; all links unless a network is named."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.faults import links
from clusterwright.lab.inside import inside, must
from clusterwright.lab.layout import LabHost, Link
from clusterwright.lab.state import LabState

OPTIONS = ("network",)
LASTS = True


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Drop the packets that the host sends on its links, as with one broken fiber of two; return the lab's state.

    The carrier stays, requests arrive, no reply leaves.
    """
    for link in links(host, options):
        must(lab, host, "nft", _rules(link))
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Restore both directions of the host's links; return the lab's state.

    A host that has booted since the fault has them already.
    """
    for link in links(host, options):
        inside(lab, host, "nft", f"delete table netdev {_table(link)}")
    return lab


def _table(link: Link) -> str:
    return f"half_open_{link.network}"


def _rules(link: Link) -> str:
    """Return nft commands that drop what a link sends, in a table that firewall and apply do not touch."""
    name = _table(link)
    hook = f"type filter hook egress device {link.network} priority 0;"
    return f"add table netdev {name}; add chain netdev {name} out {{ {hook} policy drop; }}"
