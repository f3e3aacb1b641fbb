"""What the Xids of a host come to, GPU by GPU; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from clusterwright.check.kernel.events import BURST_S, Event
from clusterwright.check.kernel.lines import HOUR_S
from clusterwright.check.kernel.xids import WINDOW_HOURS, Severity, xid
from clusterwright.i18n import _

MAX_FATAL_PER_DAY = 5  # NVSentinel: fatal five times in 24 hours on one GPU is a matter for its vendor
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
    reason: str = ""

    @property
    def name(self) -> str:
        """`XID 79` or `SXID 20034`."""
        return f"{'SXID' if self.switch else 'XID'} {self.number}"

    @property
    def code(self) -> str:
        """`xid-79` or `sxid-20034`."""
        return f"{'sxid' if self.switch else 'xid'}-{self.number}"


def judge(events: Sequence[Event], now_s: float) -> tuple[Finding, ...]:
    """Every Xid that still counts at `now_s`, the gravest first."""
    current_events = [event for event in events if _is_current(event, now_s)]
    groups: dict[tuple[str, int, bool], list[Event]] = {}
    for event in current_events:
        groups.setdefault((event.pci, event.number, event.switch), []).append(event)
    findings = [
        _switch(group) if group[0].switch else _gpu(group, current_events) for group in groups.values()
    ]
    return tuple(sorted(_escalate(findings), key=lambda finding: _GRAVEST.index(finding.severity)))


def _is_current(event: Event, now_s: float) -> bool:
    row = xid(event.number)
    hours = WINDOW_HOURS if event.switch else row.holds
    return hours == "boot" or now_s - event.last_s <= hours * HOUR_S


def _gpu(group: Sequence[Event], current_events: Sequence[Event]) -> Finding:
    row, bursts = xid(group[0].number), _Bursts(group)
    free = [event for event in group if not _cascade(event, current_events)]
    if not free:
        return bursts.as_("none", row.meaning, row.action, _cascade(group[0], current_events))
    peers = max(_peers(event, current_events) for event in free) if row.spread else 0
    if peers:
        return bursts.as_(
            "none",
            row.meaning,
            row.action,
            _("on {peers} GPUs at once, so it is the program", peers=peers + 1),
        )
    assessments = [row.assess(message) for event in free for message in event.messages]
    severity, action = min(assessments, key=lambda assessment: _GRAVEST.index(assessment[0]))
    if row.repeat and len(_events_in_window(free, row.repeat.hours)) >= row.repeat.times:
        severity, action = row.repeat.severity, row.repeat.action
    return _Bursts(free).as_(severity, row.meaning, action)


@dataclass(frozen=True, slots=True)
class _Bursts:
    """The bursts that a finding speaks of."""

    group: Sequence[Event]

    def as_(self, severity: Severity, meaning: str, action: str, reason: str = "") -> Finding:
        event = self.group[0]
        return Finding(
            pci=event.pci,
            number=event.number,
            switch=event.switch,
            times=len(self.group),
            severity=severity,
            meaning=meaning,
            action=action,
            reason=reason,
        )


def _cascade(event: Event, current_events: Iterable[Event]) -> str:
    """Which earlier Xid this one follows from, in words; nothing if it stands alone."""
    if all(matches := [_CAUSED.search(message) for message in event.messages]) and matches[0]:
        return _("follows from Xid {xid}", xid=matches[0][1])
    row = xid(event.number)
    causes = [
        cause.number
        for cause in current_events
        if cause.number != event.number
        and not cause.switch
        and row.follows(cause.number)
        and event.first_s >= cause.first_s
        and event.first_s - cause.last_s <= BURST_S
    ]
    return _("follows from Xid {xid}", xid=causes[-1]) if causes else ""


def _peers(event: Event, current_events: Iterable[Event]) -> int:
    """On how many other GPUs the same Xid was logged at the same time."""
    addresses = {
        peer.pci
        for peer in current_events
        if (peer.number, peer.switch) == (event.number, False)
        and abs(peer.first_s - event.first_s) <= BURST_S
    }
    return len(addresses - {event.pci})


def _events_in_window(group: Sequence[Event], hours: float) -> list[Event]:
    return [event for event in group if group[-1].last_s - event.first_s <= hours * HOUR_S]


def _switch(group: Sequence[Event]) -> Finding:
    """An NVSwitch names its own severity in the line; each fatal error has a second line with the registers."""
    fatal = any(_FATAL.match(message) for event in group for message in event.messages)
    message = group[0].messages[0][:60]
    meaning = (
        _("fatal NVSwitch error: {message}", message=message)
        if fatal
        else _("recoverable NVSwitch error: {message}", message=message)
    )
    action = _("drain and reboot the host; repair if it comes again") if fatal else _("nothing")
    return _Bursts(group).as_("fail" if fatal else "none", meaning, action)


def _escalate(findings: Sequence[Finding]) -> list[Finding]:
    """As they are, but for GPUs with many fatal Xids in a day: those go to their vendor."""
    fatal: dict[str, int] = {}
    for finding in findings:
        fatal[finding.pci] = fatal.get(finding.pci, 0) + (finding.times if finding.severity == "fail" else 0)
    return [
        _to_vendor(finding, fatal[finding.pci])
        if finding.severity == "fail" and fatal[finding.pci] >= MAX_FATAL_PER_DAY
        else finding
        for finding in findings
    ]


def _to_vendor(finding: Finding, times: int) -> Finding:
    return replace(
        finding,
        action=_("{times} fatal errors in a day on one device: drain the host and replace it", times=times),
    )
