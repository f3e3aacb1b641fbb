"""The services run."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.units import required_units, units
from clusterwright.check.verdict import Verdict


@check(
    units,
    on=("deploy", "periodic", "boot"),
    fix="`systemctl status UNIT` and `journalctl -u UNIT` on the host say why it ended",
)
def services(spec: HostSpec, have: dict[str, str]) -> Verdict:
    """Every service of the host's role is active."""
    needed = required_units(spec)
    wrong = tuple(unit for unit in needed if not have.get(unit, "").startswith("active"))
    observed = "; ".join(f"{unit} is {have.get(unit, 'not there')}" for unit in wrong)
    return expect(
        not wrong,
        observed=observed or f"{len(needed)} services active",
        expected=", ".join(unit.removesuffix(".service") for unit in needed),
        codes=wrong,
    )
