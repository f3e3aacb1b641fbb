"""What the Xids of a host come to, GPU by GPU; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from clusterwright.check.kernel.events import BURST_S, Event
from clusterwright.check.kernel.lines import HOUR_S
from clusterwright.check.kernel.xids import WINDOW_HOURS, Severity, xid

MANY = 5  # NVSentinel: fatal five times in 24 hours on one GPU is a matter for its vendor
_CAUSED = re.compile(r"caused by previous Xid (\d+)")
_FATAL = re.compile(r"Fatal|Severity [1-9]")  # NVIDIA, Fabric Manager User Guide: severity 0 passes
_GRAVEST: tuple[Severity, ...] = ("fail", "warn", "none")


@dataclass(frozen=True, slots=True)
class Finding:
    """One Xid of one GPU within its time: how often, how grave, what to do, and why it is not graver."""

    pci: str
    number: int
    switch: bool
    times: int
    severity: Severity
    meaning: str
    action: str
    why: str = ""

    @property
    def name(self) -> str:
        """`XID 79` or `SXID 20034`."""
        return f"{'SXID' if self.switch else 'XID'} {self.number}"

    @property
    def code(self) -> str:
        """`xid-79` or `sxid-20034`."""
        return f"{'sxid' if self.switch else 'xid'}-{self.number}"


def judge(found: Sequence[Event], now_s: float) -> tuple[Finding, ...]:
    """Every Xid that still counts at `now_s`, the gravest first."""
    kept = [event for event in found if _holds(event, now_s)]
    groups: dict[tuple[str, int, bool], list[Event]] = {}
    for event in kept:
        groups.setdefault((event.pci, event.number, event.switch), []).append(event)
    findings = [_switch(group) if group[0].switch else _gpu(group, kept) for group in groups.values()]
    return tuple(sorted(_many(findings), key=lambda each: _GRAVEST.index(each.severity)))


def _holds(event: Event, now_s: float) -> bool:
    row = xid(event.number)
    hours = WINDOW_HOURS if event.switch else row.holds
    return hours == "boot" or now_s - event.last_s <= hours * HOUR_S


def _gpu(group: Sequence[Event], kept: Sequence[Event]) -> Finding:
    row, told = xid(group[0].number), _Told(group)
    free = [event for event in group if not _cascade(event, kept)]
    if not free:
        return told.as_("none", row.meaning, row.action, _cascade(group[0], kept))
    peers = max(_peers(event, kept) for event in free) if row.spread else 0
    if peers:
        return told.as_("none", row.meaning, row.action, f"on {peers + 1} GPUs at once, so it is the program")
    told_of = [row.said(words) for event in free for words in event.said]
    severity, action = min(told_of, key=lambda each: _GRAVEST.index(each[0]))
    if row.repeat and len(_within(free, row.repeat.hours)) >= row.repeat.times:
        severity, action = row.repeat.severity, row.repeat.action
    return _Told(free).as_(severity, row.meaning, action)


@dataclass(frozen=True, slots=True)
class _Told:
    """The bursts that a finding speaks of."""

    group: Sequence[Event]

    def as_(self, severity: Severity, meaning: str, action: str, why: str = "") -> Finding:
        event = self.group[0]
        return Finding(
            pci=event.pci,
            number=event.number,
            switch=event.switch,
            times=len(self.group),
            severity=severity,
            meaning=meaning,
            action=action,
            why=why,
        )


def _cascade(event: Event, kept: Iterable[Event]) -> str:
    """Which earlier Xid this one follows from, in words; nothing if it stands alone."""
    if all(found := [_CAUSED.search(words) for words in event.said]) and found[0]:
        return f"follows from Xid {found[0][1]}"
    row = xid(event.number)
    causes = [
        other.number
        for other in kept
        if other.number != event.number
        and not other.switch
        and row.follows(other.number)
        and event.first_s >= other.first_s
        and event.first_s - other.last_s <= BURST_S
    ]
    return f"follows from Xid {causes[-1]}" if causes else ""


def _peers(event: Event, kept: Iterable[Event]) -> int:
    """On how many other GPUs the same Xid was logged at the same time."""
    others = {
        other.pci
        for other in kept
        if (other.number, other.switch) == (event.number, False)
        and abs(other.first_s - event.first_s) <= BURST_S
    }
    return len(others - {event.pci})


def _within(group: Sequence[Event], hours: float) -> list[Event]:
    return [event for event in group if group[-1].last_s - event.first_s <= hours * HOUR_S]


def _switch(group: Sequence[Event]) -> Finding:
    """An NVSwitch names its own severity in the line; each fatal error has a second line with the registers."""
    fatal = any(_FATAL.match(words) for event in group for words in event.said)
    meaning = f"{'fatal' if fatal else 'passing'} error of an NVSwitch: {group[0].said[0][:60]}"
    action = "drain and reboot the host; repair if it comes again" if fatal else "nothing"
    return _Told(group).as_("fail" if fatal else "none", meaning, action)


def _many(findings: Sequence[Finding]) -> list[Finding]:
    """As they are, but for GPUs with many fatal Xids in a day: those go to their vendor."""
    fatal: dict[str, int] = {}
    for each in findings:
        fatal[each.pci] = fatal.get(each.pci, 0) + (each.times if each.severity == "fail" else 0)
    return [
        _to_vendor(each, fatal[each.pci]) if each.severity == "fail" and fatal[each.pci] >= MANY else each
        for each in findings
    ]


def _to_vendor(each: Finding, times: int) -> Finding:
    return replace(each, action=f"{times} fatal errors in a day on one device: drain the host and replace it")
