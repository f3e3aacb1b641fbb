"""The sensors of the board's management controller."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.bmc import ask, silence
from clusterwright.check.fact import fact

# ipmitool(1), sdr: ok; no reading; beyond a limit that is non-critical, critical, non-recoverable; unspecified.
_STATES = ("ok", "ns", "nc", "cr", "nr", "us")
_END = "@ END"


@dataclass(frozen=True, slots=True)
class Sensor:
    """One sensor: `state` in ipmitool's two letters, `said` is its reading or the states that it is in."""

    name: str
    state: str
    said: str


@dataclass(frozen=True, slots=True)
class Sensors:
    """All sensors; or why there is nobody to ask."""

    found: tuple[Sensor, ...]
    silent: str = ""


@fact(
    "sh", "-c", ask(f"ipmitool -c sdr elist && echo '{_END}'"), limit_s=60
)  # a slow BMC takes 0.2 s a sensor
def bmc_sensors(out: str) -> Sensors:
    """Every sensor by `ipmitool -c sdr elist`; none, with the reason, where the board has no BMC or no tool."""
    if why := silence(out):
        return Sensors((), why)
    *lines, last = out.splitlines()
    if last != _END or not lines:
        raise ValueError(out[:80])
    return Sensors(tuple(_sensor(line) for line in lines))


def _sensor(line: str) -> Sensor:
    """`CPU Temp,47,degrees C,ok,3.1,1` with a reading, `PS1 Status,c8h,ok,10.1,Presence detected` without."""
    words = [word.strip() for word in line.split(",")]
    if words[2] in _STATES:
        return Sensor(words[0], words[2], ", ".join(filter(None, words[4:])))
    if words[3] in _STATES:
        return Sensor(words[0], words[3], " ".join(filter(None, words[1:3])))
    raise ValueError(line)
