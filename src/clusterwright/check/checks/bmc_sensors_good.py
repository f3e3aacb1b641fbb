"""The board's sensors are content."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.check.bmc import in_lab, nobody
from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import Want
from clusterwright.check.facts.bmc_sensors import Sensor, Sensors, bmc_sensors
from clusterwright.check.verdict import Status, Verdict

# IPMI 2.0, table 42-3: states of sensors without a reading that ask for a hand.
_BROKEN = re.compile(
    r"Failure detected|AC lost|Config Error|Drive Fault|In Failed Array|Uncorrectable|Thermal Trip"
)
_AILING = re.compile(
    r"Predictive [Ff]ailure|Redundancy (Lost|Degraded)|Non-Redundant|In Critical Array|limit reached"
)
_STATES = {"nc": Status.WARN, "cr": Status.FAIL, "nr": Status.FAIL}
_WANT = "every sensor within its limits (ipmitool sdr; IPMI 2.0, table 42-3)"


@check(
    bmc_sensors,
    unless=in_lab,
    mend="`ipmitool sdr elist` on the host: see fans, power supplies and their cables, inlet temperature",
)
def bmc_sensors_good(_want: Want, have: Sensors) -> Iterator[Verdict]:
    """No sensor of the board is beyond a limit of its own, and no power supply, fan or drive says that it failed."""
    if have.silent:
        yield nobody(have.silent, _WANT)
        return
    found = [(each, status) for each in have.found if (status := _status(each)) is not Status.OK]
    for each, status in found:
        yield fault(
            saw=f"{each.name}: {each.said or each.state}", want=_WANT, part=each.name, otherwise=status
        )
    if not found:
        yield fine(saw=f"{len(have.found)} sensors", want=_WANT)


def _status(each: Sensor) -> Status:
    if _BROKEN.search(each.said):
        return Status.FAIL
    return Status.WARN if _AILING.search(each.said) else _STATES.get(each.state, Status.OK)
