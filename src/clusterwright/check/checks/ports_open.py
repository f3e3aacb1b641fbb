"""The ports that the cluster needs are open."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.ports import ports, wanted
from clusterwright.check.verdict import Verdict


@check(
    ports,
    mend="refused: start the service; silent: the other host is down or its firewall drops it",
)
def ports_open(want: Want, have: dict[str, str]) -> Verdict:
    """Compute hosts reach slurmctld, the control host every slurmd and exporter; really connected."""
    needed = wanted(want)
    shut = [
        f"{who} ({target}) {have.get(target, 'not tried')}"
        for target, who in needed.items()
        if have.get(target) != "open"
    ]
    saw = "; ".join(shut[:3]) + (f" and {len(shut) - 3} more" if len(shut) > 3 else "")
    return expect(not shut, saw=saw or f"{len(needed)} ports open", want="connections to " + _summary(needed))


def _summary(needed: dict[str, str]) -> str:
    return ", ".join(
        sorted({f"{who.split()[0]} {target.rpartition(':')[2]}" for target, who in needed.items()})
    )
