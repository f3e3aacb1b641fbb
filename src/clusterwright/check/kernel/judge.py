"""Findings from the Xids of a host, by GPU; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from clusterwright.check.kernel.events import BURST_S, KernelEvent
from clusterwright.check.kernel.lines import HOUR_S
from clusterwright.check.kernel.xids import WINDOW_HOURS, Severity, xid
from clusterwright.i18n import _

MAX_FATAL_PER_DAY = 5  # NVSentinel: a GPU with five fatal Xids in 24 hours goes to its vendor
_CAUSED = re.compile(r"caused by previous Xid (\d+)")
_FATAL = re.compile(r"Fatal|Severity [1-9]")  # NVIDIA Fabric Manager User Guide: severity 0 is recoverable
_GRAVEST: tuple[Severity, ...] = ("fail", "warn", "none")


@dataclass(frozen=True, slots=True)
class KernelFinding:
    """One Xid of one GPU in its time window: count of bursts, severity, action, and why it is ignored (`why`)."""

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
        """The error as NVIDIA writes it, `XID 79`, or for an NVSwitch `SXID 20034`."""
        return f"{'SXID' if self.switch else 'XID'} {self.number}"

    @property
    def code(self) -> str:
        """The error as code of a verdict, `xid-79`, or for an NVSwitch `sxid-20034`."""
        return f"{'sxid' if self.switch else 'xid'}-{self.number}"


def judge(events: Sequence[KernelEvent], now_s: float) -> tuple[KernelFinding, ...]:
    """Return a finding for each device and Xid with events in its time window before `now_s`, the most severe first."""
    current_events = [event for event in events if _is_current(event, now_s)]
    groups: dict[tuple[str, int, bool], list[KernelEvent]] = {}
    for event in current_events:
        groups.setdefault((event.pci, event.number, event.switch), []).append(event)
    findings = [
        _switch(group) if group[0].switch else _gpu(group, current_events) for group in groups.values()
    ]
    return tuple(sorted(_escalate(findings), key=lambda finding: _GRAVEST.index(finding.severity)))


def _is_current(event: KernelEvent, now_s: float) -> bool:
    row = xid(event.number)
    hours = WINDOW_HOURS if event.switch else row.holds
    return hours == "boot" or now_s - event.last_s <= hours * HOUR_S


def _gpu(group: Sequence[KernelEvent], current_events: Sequence[KernelEvent]) -> KernelFinding:
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
            _("the Xid occurred on {count} GPUs at once, so the program caused it", count=peers + 1),
        )
    assessments = [row.assess(message) for event in free for message in event.messages]
    severity, action = min(assessments, key=lambda assessment: _GRAVEST.index(assessment[0]))
    if row.repeat and len(_events_in_window(free, row.repeat.hours)) >= row.repeat.times:
        severity, action = row.repeat.severity, row.repeat.action
    return _Bursts(free).as_(severity, row.meaning, action)


@dataclass(frozen=True, slots=True)
class _Bursts:
    """The bursts that one finding summarizes."""

    group: Sequence[KernelEvent]

    def as_(self, severity: Severity, meaning: str, action: str, reason: str = "") -> KernelFinding:
        event = self.group[0]
        return KernelFinding(
            pci=event.pci,
            number=event.number,
            switch=event.switch,
            times=len(self.group),
            severity=severity,
            meaning=meaning,
            action=action,
            reason=reason,
        )


def _cascade(event: KernelEvent, current_events: Iterable[KernelEvent]) -> str:
    """Return `follows from Xid N` if all messages of the event name a cause, the first one N; else an empty text.

    Also if another Xid that can cause it came at most BURST_S before.
    """
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


def _peers(event: KernelEvent, current_events: Iterable[KernelEvent]) -> int:
    """Count the other GPUs that have the Xid of the event within 3 minutes of the event."""
    addresses = {
        peer.pci
        for peer in current_events
        if (peer.number, peer.switch) == (event.number, False)
        and abs(peer.first_s - event.first_s) <= BURST_S
    }
    return len(addresses - {event.pci})


def _events_in_window(group: Sequence[KernelEvent], hours: float) -> list[KernelEvent]:
    return [event for event in group if group[-1].last_s - event.first_s <= hours * HOUR_S]


def _switch(group: Sequence[KernelEvent]) -> KernelFinding:
    """Return the finding on the SXids of one number and NVSwitch: fail if a message is fatal, else nothing to do."""
    fatal = any(_FATAL.match(message) for event in group for message in event.messages)
    message = group[0].messages[0][:60]
    meaning = (
        _("fatal NVSwitch error: {message}", message=message)
        if fatal
        else _("recoverable NVSwitch error: {message}", message=message)
    )
    action = (
        _("drain and reboot the host; replace the NVSwitch if the error returns")
        if fatal
        else _("nothing to do")
    )
    return _Bursts(group).as_("fail" if fatal else "none", meaning, action)


def _escalate(findings: Sequence[KernelFinding]) -> list[KernelFinding]:
    """Replace the action for devices with MAX_FATAL_PER_DAY fatal Xids or more: replace the device."""
    fatal: dict[str, int] = {}
    for finding in findings:
        fatal[finding.pci] = fatal.get(finding.pci, 0) + (finding.times if finding.severity == "fail" else 0)
    return [
        _to_vendor(finding, fatal[finding.pci])
        if finding.severity == "fail" and fatal[finding.pci] >= MAX_FATAL_PER_DAY
        else finding
        for finding in findings
    ]


def _to_vendor(finding: KernelFinding, times: int) -> KernelFinding:
    return replace(
        finding,
        action=_("drain the host and replace the device: it had {times} fatal errors in a day", times=times),
    )
