"""The host has a Python for the programs of Clusterwright."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, fault, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.reading import HostReach, reached
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import N_, _

_OLDEST = (3, 6)  # RHEL 8's platform Python, the oldest of the supported systems
_EXPECTED = N_("Python 3.6 or later")


@check(
    reached,
    fix="install the package python3 on the host; for a user other than root, `sudo -n` must work",
    in_jobs=True,
)
def python_agent(_spec: HostSpec, have: HostReach) -> Verdict:
    """The fact reader runs on the host: python3 is installed, 3.6 or later."""
    if have.error:
        return unknown(_("no SSH connection to the host: {error}", error=have.error), expected=_(_EXPECTED))
    if have.fault:
        return fault(observed=have.fault, expected=_(_EXPECTED))
    version = tuple(int(number) for number in have.python.split(".")[:2] if number.isdigit())
    return expect(version >= _OLDEST, observed=f"Python {have.python}", expected=_(_EXPECTED))
