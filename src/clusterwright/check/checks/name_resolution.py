"""Names and addresses are known everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.names import Names, names
from clusterwright.check.verdict import Verdict


@check(
    names,
    mend="apply the cluster file again: it writes /etc/hosts; `getent hosts NAME` shows what the host knows",
)
def name_resolution(want: Want, have: Names) -> Verdict:
    """Every host resolves every name to its management address and back; torch needs the way back too."""
    wrong = list(_wrong(want, have))
    saw = "; ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    total = len(want.cluster.hosts())
    return expect(
        not wrong,
        saw=saw or f"{total} names both ways",
        want=f"{total} names and addresses as in nodes.*.addresses",
    )


def _wrong(want: Want, have: Names) -> Iterator[str]:
    for host in want.cluster.hosts():
        address = str(host.management)
        found, back = have.forward.get(host.name, ()), have.reverse.get(address, ())
        if address not in found or any(each.startswith("127.") for each in found):
            yield f"{host.name} is {' and '.join(found) or 'unknown'}, not {address}"
        elif host.name not in {each.split(".")[0] for each in back}:
            yield f"{address} is {back[0] if back else 'unknown'}, not {host.name}"
