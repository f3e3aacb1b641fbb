"""The services run."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.units import units, wanted
from clusterwright.check.verdict import Verdict


@check(
    units,
    on=("deploy", "periodic", "boot"),
    mend="`systemctl status UNIT` and `journalctl -u UNIT` on the host say why it ended",
)
def services(want: Want, have: dict[str, str]) -> Verdict:
    """Every service of the host's role is active."""
    needed = wanted(want)
    wrong = tuple(unit for unit in needed if not have.get(unit, "").startswith("active"))
    saw = "; ".join(f"{unit} is {have.get(unit, 'not there')}" for unit in wrong)
    return expect(
        not wrong,
        saw=saw or f"{len(needed)} services active",
        want=", ".join(unit.removesuffix(".service") for unit in needed),
        codes=wrong,
    )
