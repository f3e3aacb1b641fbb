"""The BMC's sensors are within their limits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.check.bmc import in_lab, unavailable_verdict
from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.bmc_sensors import Sensor, Sensors, bmc_sensors
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _, _n

# IPMI 2.0, table 42-3: fault states of discrete sensors.
_BROKEN = re.compile(
    r"Failure detected|AC lost|Config Error|Drive Fault|In Failed Array|Uncorrectable|Thermal Trip"
)
_AILING = re.compile(
    r"Predictive [Ff]ailure|Redundancy (Lost|Degraded)|Non-Redundant|In Critical Array|limit reached"
)
_STATES = {"nc": Status.WARN, "cr": Status.FAIL, "nr": Status.FAIL}
_EXPECTED = N_("every sensor of `ipmitool sdr` within its limits (IPMI 2.0, table 42-3)")


@check(
    bmc_sensors,
    unless=in_lab,
    fix="run `ipmitool sdr elist` on the host; check fans, power supplies and their cables, and inlet temperature",
    in_jobs=True,
)
def bmc_sensor_status(_spec: HostSpec, have: Sensors) -> Iterator[Verdict]:
    """No BMC sensor is beyond its limits, and no power supply, fan or drive reports a failure."""
    if have.unavailable:
        yield unavailable_verdict(have.unavailable, _(_EXPECTED))
        return
    bad_sensors = [
        (sensor, status) for sensor in have.sensors if (status := _status(sensor)) is not Status.OK
    ]
    for sensor, status in bad_sensors:
        yield fault(
            observed=f"{sensor.name}: {sensor.reading or sensor.state}",
            expected=_(_EXPECTED),
            part=sensor.name,
            otherwise=status,
        )
    if not bad_sensors:
        yield fine(
            observed=_n("{count} sensor in order", "{count} sensors in order", len(have.sensors)),
            expected=_(_EXPECTED),
        )


def _status(sensor: Sensor) -> Status:
    if _BROKEN.search(sensor.reading):
        return Status.FAIL
    return Status.WARN if _AILING.search(sensor.reading) else _STATES.get(sensor.state, Status.OK)
