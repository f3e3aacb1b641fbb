"""A pending job's explanation as text for people and as a diagnosis for programs."""

from __future__ import annotations

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.pending.waiting import StartCommand, Waiting
from clusterwright.i18n import _

_CLASSES = {
    "nodes-out": "node-lost", "launch-failed-held": "slurm-config", "requeued-prolog": "slurm-config",
    "bad-constraints": "slurm-config",
}  # fmt: skip


def format_waiting(waiting: Waiting, job: str) -> str:
    """Return the explanation as rows of text: cause, start, who holds what the job needs, and the change."""
    rows = [(_("reason"), waiting.cause), (_("starts"), waiting.starts)]
    rows += [(_("held by") if number == 0 else "", holder) for number, holder in enumerate(waiting.held_by)]
    if change := waiting.change:
        rows += [
            (_("change"), f"{change.command}    ({change.description})"),
            (_("run by"), _permitted_user(change)),
        ]
    else:
        rows += [(_("change"), _no_change())]
    head = f"{job}: PENDING ({waiting.reason})  pending/{waiting.id}"
    return "\n".join([head, *(f"  {_padded(name)}{text}" for name, text in rows)])


def _permitted_user(change: StartCommand) -> str:
    return _("you") if change.by == "user" else _("an administrator")


def _no_change() -> str:
    return _("no command starts the job now")


def _padded(name: str) -> str:
    wide = sum(2 if ord(sign) > 0x2E80 else 1 for sign in name)
    return name + " " * max(2, 10 - wide)


def diagnosis(waiting: Waiting, job: str) -> Diagnosis:
    """Return the explanation as a diagnosis with confidence 0.95, as Slurm's records are the evidence; 0 if unknown."""
    change, holders = waiting.change, "; ".join(waiting.held_by)
    parts = (waiting.cause, f"[{_('starts')}: {waiting.starts}]", holders and f"[{holders}]")
    return Diagnosis(
        kind=_CLASSES.get(waiting.id, "slurm-limits"),
        mode=f"pending/{waiting.id}",
        role="root",
        cause=" ".join(part for part in parts if part),
        subject={"job": job},
        confidence=0.0 if waiting.id == "unknown" else 0.95,
        evidence=tuple(Evidence(source, 1, text) for source, text in waiting.evidence),
        fix=f"`{change.command}`: {change.description} ({_permitted_user(change)})"
        if change
        else _no_change(),
        retry="fixed" if change else "yes",
    )
