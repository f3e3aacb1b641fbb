"""The services run."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.units import required_units, units
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    units,
    on=("deploy", "periodic", "boot"),
    fix="`systemctl status UNIT` and `journalctl -u UNIT` on the host say why it ended",
)
def services(spec: HostSpec, have: dict[str, str]) -> Verdict:
    """Every service of the host's role is active."""
    needed = required_units(spec)
    wrong = tuple(unit for unit in needed if not have.get(unit, "").startswith("active"))
    observed = "; ".join(_("{unit} is {have}", unit=unit, have=have.get(unit, "not there")) for unit in wrong)
    return expect(
        not wrong,
        observed=observed or _("{count} services active", count=len(needed)),
        expected=", ".join(unit.removesuffix(".service") for unit in needed),
        codes=wrong,
    )
