"""The result of a check: status, observed, expected, fix."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """Only `ok` is green; `unknown`: the value could not be read; `skipped`: the feature is off or absent."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check says of one subject (a host, a job, the cluster).

    `part` names the affected part of a host (empty: the whole host): `gpu 3`, the name of a network, or the mount
    point of a disk or folder; it is never translated. `codes` are for programs, where a check distinguishes several
    faults (`xid-79`, `no-answer`, the name of a unit). Programs do not parse the other texts.
    """

    subject: str
    check: str
    status: Status
    observed: str
    expected: str = ""
    fix: str = ""
    part: str = ""
    codes: tuple[str, ...] = ()
