"""Connections from the control host to ports that the firewall must block."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.check.fact import HostSpec, fact, texts
from clusterwright.check.facts.listening import listening
from clusterwright.check.facts.ports import DISCARD


def _arguments(spec: HostSpec) -> Sequence[str]:
    other_hosts = [host for host in spec.cluster.hosts() if host.name != spec.host.name]
    return (
        *(f"{host.name}={host.management}" for host in other_hosts),
        *(f"-{host.management}:{DISCARD}" for host in other_hosts),
    )


@fact(_arguments, probe="connect", depends_on=listening, limit_s=20)
def trespass(out: str) -> dict[str, str]:
    """Result of a TCP connection to every listening port of other hosts, and to one unused port, by `address:port`."""
    return texts(out)
