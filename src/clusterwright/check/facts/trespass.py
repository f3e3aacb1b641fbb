"""What the control host can connect to that it should not."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.check.fact import Want, fact, texts
from clusterwright.check.facts.listening import listening
from clusterwright.check.facts.ports import DISCARD


def _arguments(want: Want) -> Sequence[str]:
    others = [host for host in want.cluster.hosts() if host.name != want.host.name]
    return (
        *(f"{host.name}={host.management}" for host in others),
        *(f"-{host.management}:{DISCARD}" for host in others),
    )


@fact(_arguments, probe="connect", after=listening, limit_s=20)
def trespass(out: str) -> dict[str, str]:
    """By `address:port`, of every port that another host listens on and one that none does: the answer."""
    return texts(out)
