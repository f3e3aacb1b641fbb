"""The board's sensors are content."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.check.bmc import in_lab, unavailable_verdict
from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.bmc_sensors import Sensor, Sensors, bmc_sensors
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

# IPMI 2.0, table 42-3: states of sensors without a reading that ask for a hand.
_BROKEN = re.compile(
    r"Failure detected|AC lost|Config Error|Drive Fault|In Failed Array|Uncorrectable|Thermal Trip"
)
_AILING = re.compile(
    r"Predictive [Ff]ailure|Redundancy (Lost|Degraded)|Non-Redundant|In Critical Array|limit reached"
)
_STATES = {"nc": Status.WARN, "cr": Status.FAIL, "nr": Status.FAIL}
_EXPECTED = N_("every sensor within its limits (ipmitool sdr; IPMI 2.0, table 42-3)")


@check(
    bmc_sensors,
    unless=in_lab,
    fix="`ipmitool sdr elist` on the host: see fans, power supplies and their cables, inlet temperature",
)
def bmc_sensor_status(_spec: HostSpec, have: Sensors) -> Iterator[Verdict]:
    """No sensor of the board is beyond a limit of its own, and no power supply, fan or drive says that it failed."""
    if have.unavailable:
        yield unavailable_verdict(have.unavailable, _EXPECTED)
        return
    bad_sensors = [
        (sensor, status) for sensor in have.sensors if (status := _status(sensor)) is not Status.OK
    ]
    for sensor, status in bad_sensors:
        yield fault(
            observed=f"{sensor.name}: {sensor.reading or sensor.state}",
            expected=_EXPECTED,
            part=sensor.name,
            otherwise=status,
        )
    if not bad_sensors:
        yield fine(observed=_("{count} sensors", count=len(have.sensors)), expected=_EXPECTED)


def _status(sensor: Sensor) -> Status:
    if _BROKEN.search(sensor.reading):
        return Status.FAIL
    return Status.WARN if _AILING.search(sensor.reading) else _STATES.get(sensor.state, Status.OK)
