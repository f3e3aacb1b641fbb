"""The sensors of the BMC."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.bmc import bmc_command, unavailable_reason
from clusterwright.check.fact import fact

# ipmitool(1), sdr: ok; no reading; beyond a limit that is non-critical, critical, non-recoverable; unspecified.
# ipmitool 1.8.19 also has a letter for a lower or an upper limit: `lcr` is `cr`.
_STATES = ("ok", "ns", "nc", "cr", "nr", "us")
_SIDES = {side + state: state for side in "lu" for state in ("cr", "nc", "nr")}
_END = "@ END"


@dataclass(frozen=True, slots=True)
class Sensor:
    """One sensor: `state` in ipmitool's two letters, `reading` its value or its asserted states."""

    name: str
    state: str
    reading: str


@dataclass(frozen=True, slots=True)
class Sensors:
    """All sensors; or why the BMC cannot be queried."""

    sensors: tuple[Sensor, ...]
    unavailable: str = ""


@fact(
    "sh", "-c", bmc_command(f"ipmitool -c sdr elist && echo '{_END}'"), limit_s=60, permission="root"
)  # a slow BMC takes 0.2 s a sensor
def bmc_sensors(out: str) -> Sensors:
    """Every sensor of `ipmitool -c sdr elist`; or the reason where there is no BMC, driver or tool."""
    if reason := unavailable_reason(out):
        return Sensors((), reason)
    *lines, last = out.splitlines()
    if last != _END or not lines:
        raise ValueError(out[:80])
    return Sensors(tuple(_sensor(line) for line in lines))


def _sensor(line: str) -> Sensor:
    """Parse `CPU Temp,47,degrees C,ok,3.1,1` (a value) or `PS1 Status,c8h,ok,10.1,Presence detected` (states)."""
    fields = [_SIDES.get(field.strip(), field.strip()) for field in line.split(",")]
    if fields[2] in _STATES:
        return Sensor(fields[0], fields[2], ", ".join(filter(None, fields[4:])))
    if fields[3] in _STATES:
        return Sensor(fields[0], fields[3], " ".join(filter(None, fields[1:3])))
    raise ValueError(line)
