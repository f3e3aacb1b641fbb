"""The parts that a snapshot lacks, and why: English in the snapshot, translated where it is shown."""

from __future__ import annotations

from clusterwright.i18n import N_, _

PARTS = {
    "jobs": N_("the queue"), "nodes": N_("the nodes"), "shares": N_("use of teams"), "measures": N_("GPU metrics"),
    "alerts": N_("alerts"), "runs": N_("runs"),
}  # fmt: skip
NO_PROMETHEUS = N_("Prometheus is not enabled (`monitoring.prometheus` in the cluster file)")
NO_ACCOUNTING = N_("accounting is not enabled (`accounting.enabled` in the cluster file)")


def lack(part: str, reason: str) -> str:
    """The line of `Snapshot.missing`."""
    return f"{PARTS[part]}: {reason}"


def lacks(line: str) -> str:
    """Translate such a line; the output of a program stays as it is."""
    part, separator, reason = line.partition(": ")
    return f"{_(part)}: {_(reason)}" if separator else line
