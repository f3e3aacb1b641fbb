"""The one word for what is found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """Only `ok` is green: not seen is `unknown`, switched off is `skipped`."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check says of one subject (a host, a job, the cluster).

    `part` is the part of a host that it is about, where it is not the whole: `gpu 3`, the name of a network, or the
    path that a disk or a folder is mounted on. `codes` are for programs: what was found, where the check can tell
    several things apart (`xid-79`, `no-answer`, the name of a unit). The texts are for a reader alone.
    """

    subject: str
    check: str
    status: Status
    observed: str
    expected: str = ""
    fix: str = ""
    part: str = ""
    codes: tuple[str, ...] = ()
