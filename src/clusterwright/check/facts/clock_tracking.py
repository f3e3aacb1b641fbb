"""Synchronization of the clock by chronyd."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

# A chronyd that has just started needs four replies, 2 s apart (iburst), to be synchronized.
_COMMAND = (
    "chronyc -c tracking | grep -q 'Not synchronised' && chronyc waitsync 15 0 0 1 >/dev/null;"
    "exec chronyc -c tracking"
)
_NO_DAEMON = "506"  # chronyc's reply when chronyd does not answer


@dataclass(frozen=True, slots=True)
class Tracking:
    """The source that chronyd follows, and the clock's offset from it."""

    running: bool
    source: str = ""
    stratum: int = 0
    offset_s: float = 0.0
    leap: str = ""

    @property
    def synchronized(self) -> bool:
        """True if chronyd follows a source (or is one itself) and reports the clock as synchronized."""
        return self.running and self.stratum > 0 and self.leap != "Not synchronised"


@fact("sh", "-c", _COMMAND, limit_s=25, codes=(0, 1))
def clock_tracking(out: str) -> Tracking:
    """The source that chronyd follows and its offset, from the comma-separated form of `chronyc tracking`.

    Or that chronyd does not run.
    """
    if out.startswith(_NO_DAEMON):
        return Tracking(running=False)
    _, source, stratum, _, offset, *_, leap = out.strip().split(",")
    return Tracking(running=True, source=source, stratum=int(stratum), offset_s=float(offset), leap=leap)
