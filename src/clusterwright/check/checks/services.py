"""The services of the host run."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.units import required_units, units
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _, _n


@check(
    units,
    on=("deploy", "periodic", "boot"),
    fix="run `systemctl status UNIT` and `journalctl -u UNIT` on the host, fix the cause and start the service",
)
def services(spec: HostSpec, have: dict[str, str]) -> Verdict:
    """Every service of the host's role is active."""
    needed = required_units(spec)
    wrong = tuple(unit for unit in needed if not have.get(unit, "").startswith("active"))
    observed = "; ".join(f"{unit}: {have.get(unit) or _('not installed')}" for unit in wrong)
    return expect(
        not wrong,
        observed=observed or _n("{count} service active", "{count} services active", len(needed)),
        expected=_("active: {units}", units=", ".join(unit.removesuffix(".service") for unit in needed)),
        codes=wrong,
    )
