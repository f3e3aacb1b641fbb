"""The parts that a snapshot lacks, and why: English in the snapshot, translated when it is shown."""

from __future__ import annotations

from clusterwright.i18n import N_, _

PARTS = {
    "jobs": N_("the queue"), "nodes": N_("the nodes"), "shares": N_("use of teams"), "measures": N_("GPU metrics"),
    "alerts": N_("alerts"), "runs": N_("runs"),
}  # fmt: skip
NO_PROMETHEUS = N_("Prometheus is not enabled (`monitoring.prometheus` in the cluster file)")
NO_ACCOUNTING = N_("accounting is not enabled (`accounting.enabled` in the cluster file)")


def lack(part: str, reason: str) -> str:
    """Return the line of `Snapshot.missing` for a part of the snapshot: its English name and the reason."""
    return f"{PARTS[part]}: {reason}"


def lacks(line: str) -> str:
    """Translate a line of `Snapshot.missing`; the output of a program in it stays as it is."""
    part, separator, reason = line.partition(": ")
    return _("{part}: {reason}", part=_(part), reason=_(reason)) if separator else line
