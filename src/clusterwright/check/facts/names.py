"""How the host resolves the cluster's names and addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact
from clusterwright.onhost.lib.safe_reader import parse_document


@dataclass(frozen=True, slots=True)
class Names:
    """Addresses by name, and names (canonical and aliases) by address; empty if not resolved."""

    forward: dict[str, tuple[str, ...]]
    reverse: dict[str, tuple[str, ...]]


def _arguments(spec: HostSpec) -> Sequence[str]:
    return [f"{host.name}={host.management}" for host in spec.cluster.hosts()]


# One DNS server that does not respond costs 5 s by default (resolv.conf(5)).
@fact(_arguments, probe="names", limit_s=10)
def names(out: str) -> Names:
    """Lookups of every host's name and management address with the host's resolver (files, DNS)."""
    document = parse_document(out)
    forward, reverse = (
        {key: tuple(values) for key, values in document[direction].items()}
        for direction in ("forward", "reverse")
    )
    return Names(forward, reverse)
