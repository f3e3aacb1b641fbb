"""Explain why a node is in its state, who set it, and the fix; a pure function of its Slurm record."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.drains import drain
from clusterwright.i18n import _
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import parse_drain_reason
from clusterwright.slurm.records import Record, clock
from clusterwright.slurm.states import NodeState, parse_node_state

# The class of the failure by the prefix of a drain reason's code: codes of health checks first, then of slurmctld's
# reasons, then of self-healing.
_CLASSES = (
    ("gpu-driver", "driver-mismatch"), ("gpu-", "gpu-hardware"), ("mount", "storage-io"),
    ("disk-full", "storage-full"), ("spool-dir-full", "storage-full"), ("munge", "slurm-auth"),
    ("clock", "time-skew"), ("link", "network-connectivity"),
    ("network-", "network-connectivity"), ("rdma-", "rdma-config"), ("not-responding", "node-lost"),
    ("unexpected-reboot", "node-lost"), ("kill-task-failed", "storage-io"), ("mismatch", "slurm-config"),
    ("hooks", "slurm-config"), ("invalid", "slurm-config"), ("resume-timeout", "node-lost"),
    ("host-down", "node-lost"), ("rebooted", "node-lost"), ("slurmd", "node-lost"), ("stuck", "storage-io"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NodeExplanation:
    """Why a node is in its state: `kind` is the class of the failure, `other` if a person or plan drained it."""

    name: str
    state: str
    kind: str
    mode: str
    cause: str
    fix: str
    evidence: str
    out: bool
    unheard: bool = False  # the node is not responding; Slurm has no other reason


def explain(record: Record) -> NodeExplanation:
    """Return the explanation of a node's state from its record of `scontrol show node`."""
    name, state, reason = record["NodeName"], record["State"], record["Reason"]
    line = record.quoted("NodeName", "State", "Reason", "Partitions", "BootTime", "SlurmdStartTime")
    parsed = parse_node_state(state)
    out = not parsed.is_available or parsed.is_power_saving or parsed.is_rebooting
    if not out:
        in_service = _("The node is in service ({state}).", state=state)
        return NodeExplanation(
            name, state, "other", "node/in-service", in_service, _("nothing to do"), line, out
        )
    if not reason:
        return _explain_state(name, parsed, line)
    drain_record = drain(name, reason)
    signed = parse_drain_reason(reason)
    kind = next((kind for begins, kind in _CLASSES if signed.code.startswith(begins)), "other")
    when, values = clock(signed.time), {"who": drain_record.by, "reason": drain_record.reason}
    cause = (
        _("Out of service since {time}, set by {who}: {reason}.", time=when, **values)
        if when
        else _("Out of service, set by {who}: {reason}.", **values)
    )
    not_responding = signed.code == "not-responding"
    return NodeExplanation(
        name, state, kind, f"node/{drain_record.origin}", cause, drain_record.fix, line, out, not_responding
    )


def _explain_state(name: str, parsed: NodeState, line: str) -> NodeExplanation:
    """Explain why a node without a drain reason is out of service, from its state.

    It is in a maintenance reservation, powered down by power saving, or else its slurmd is not responding. `line` is
    the quoted evidence.
    """
    state, resume = parsed.text, client.line(client.resume(name))
    if parsed.is_in_maintenance:
        cause, fix = (
            _("The node is in a maintenance reservation."),
            _("wait until the node's maintenance reservation ends"),
        )
        return NodeExplanation(name, state, "other", "node/maintenance", cause, fix, line, out=True)
    if parsed.is_power_saving:
        cause = _("Power saving has powered the node down, or is changing its power state.")
        fix = _("no action needed: Slurm powers the node up for a job that needs it")
        return NodeExplanation(name, state, "other", "node/power-saving", cause, fix, line, out=True)
    cause = _("The node's slurmd is not responding ({state}).", state=state)
    fix = _(
        "check that the host is up (`ssh {host}`), run `systemctl status slurmd` there, then `{resume}`",
        host=name,
        resume=resume,
    )
    return NodeExplanation(
        name, state, "node-lost", "node/not-heard", cause, fix, line, out=True, unheard=True
    )
