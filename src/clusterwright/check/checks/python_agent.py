"""The host has a Python for what we run there."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, fault, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.reading import Reach, reached
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import N_, _

_OLDEST = (3, 6)  # RHEL 8's platform Python, the oldest on a supported system
_EXPECTED = N_("python3, 3.6 or later")


@check(
    reached,
    fix="install the package python3 on the host; for a user other than root see that `sudo -n` works",
)
def python_agent(_spec: HostSpec, have: Reach) -> Verdict:
    """The reader of facts runs there: python3 is present and not too old."""
    if have.error:
        return unknown(_("the host was not reached: {error}", error=have.error), expected=_EXPECTED)
    if have.fault:
        return fault(observed=have.fault, expected=_EXPECTED)
    version = tuple(int(number) for number in have.python.split(".")[:2] if number.isdigit())
    return expect(version >= _OLDEST, observed=_("Python {python}", python=have.python), expected=_EXPECTED)
