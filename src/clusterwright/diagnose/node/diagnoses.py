"""Why a node is as it is, and what its logs tell of, as diagnoses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.judge.calibration import OF_CASCADES
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.node.explain import NodeExplanation
from clusterwright.diagnose.pending.waiting import Message

_BEFORE_RESUME = Message("Before it was last given back to service: ", "在上次恢复服务之前: ")
_UNREACHABLE = Message("The host does not answer ssh either.", "该主机也不响应 ssh。")


def follows() -> tuple[str, ...]:
    """Modes and classes after which a host is not heard of."""
    return knowledge()["node-lost/not-responding"].follows


def node_diagnoses(
    node: NodeExplanation, of_logs: list[Diagnosis], lang: str, *, answers: bool, follows: Sequence[str] = ()
) -> list[Diagnosis]:
    """Slurm's word on it first, then what its kernel and daemons said lately, of one class with it before others.

    Of a host that Slurm does not hear and that answers, what its logs tell to be the cause comes before that word.
    Of a node that Slurm gives jobs, its logs tell alone; and slurmctld has taken its settings as they are.
    """
    aside = {"unknown", *(() if node.kind == "slurm-config" else ("slurm-config",))}
    roots = [diagnosis for diagnosis in of_logs if diagnosis.role == "root"]
    causes = (
        [diagnosis for diagnosis in roots if {diagnosis.kind, diagnosis.mode} & {*follows}]
        if node.unheard and answers
        else []
    )
    roots = [diagnosis for diagnosis in roots if diagnosis.kind not in aside and diagnosis not in causes]
    same_kind = [diagnosis for diagnosis in roots if diagnosis.kind == node.kind]
    other_kinds = [diagnosis for diagnosis in roots if diagnosis.kind != node.kind]
    if not node.out:
        return roots or [_node_diagnosis(node, [], lang, answers=answers)]
    node_diagnosis = _node_diagnosis(node, same_kind, lang, answers=answers)
    if causes:
        node_diagnosis = replace(
            node_diagnosis, role="cascade", confidence=min(node_diagnosis.confidence, OF_CASCADES)
        )
    return [
        *(replace(diagnosis, exclude=node.name) for diagnosis in causes),
        node_diagnosis,
        *same_kind,
        *other_kinds,
    ]


def past(of_logs: list[Diagnosis], lang: str) -> list[Diagnosis]:
    """What its logs tell of from before somebody gave it back: done with, as that person or program saw it."""
    prefix = _BEFORE_RESUME.zh if lang == "zh" else _BEFORE_RESUME.en
    roots = (diagnosis for diagnosis in of_logs if diagnosis.role == "root" and diagnosis.kind != "unknown")
    return [replace(diagnosis, cause=prefix + diagnosis.cause) for diagnosis in roots]


def _node_diagnosis(
    node: NodeExplanation, same_kind: list[Diagnosis], lang: str, *, answers: bool
) -> Diagnosis:
    """What Slurm says, with the lines of the host's own logs that bear it out."""
    cause, fix = (node.cause.zh, node.fix.zh) if lang == "zh" else (node.cause.en, node.fix.en)
    if not answers:
        cause += f" {_UNREACHABLE.zh if lang == 'zh' else _UNREACHABLE.en}"
    lines = tuple(line for diagnosis in same_kind[:2] for line in diagnosis.evidence[:2])
    return Diagnosis(
        kind=node.kind,
        mode=node.mode,
        role="root" if node.out else "benign",
        cause=cause,
        subject={"host": node.name},
        confidence=0.97 if same_kind else 0.9,
        evidence=(Evidence("scontrol show node", 1, node.evidence), *lines),
        fix=fix,
        retry="elsewhere" if node.out else "yes",
        exclude=node.name if node.out else "",
    )
