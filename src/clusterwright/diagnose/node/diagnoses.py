"""Diagnoses of a node: its state in Slurm, and the failures in its logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.judge.weigh import OF_CASCADES
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.node.explain import NodeExplanation
from clusterwright.i18n import _


def follows() -> tuple[str, ...]:
    """Return modes and classes that can make a node stop responding."""
    return knowledge()["node-lost/not-responding"].follows


def node_diagnoses(
    node: NodeExplanation, of_logs: list[Diagnosis], *, answers: bool, follows: Sequence[str] = ()
) -> list[Diagnosis]:
    """Return a node's diagnoses in order: its state in Slurm, then failures in its logs, same class first.

    If the node is not responding but its host answers ssh, causes in its logs come before the state. A node in
    service has only the diagnoses of its logs. `slurm-config` failures count only if Slurm itself reports such a
    failure.
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
        return roots or [_node_diagnosis(node, [], answers=answers)]
    node_diagnosis = _node_diagnosis(node, same_kind, answers=answers)
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


def past(of_logs: list[Diagnosis]) -> list[Diagnosis]:
    """Return the root causes among diagnoses from before the node's last resume, marked so: they count as fixed."""
    roots = (diagnosis for diagnosis in of_logs if diagnosis.role == "root" and diagnosis.kind != "unknown")
    return [
        replace(diagnosis, cause=_("Before the last resume: {cause}", cause=diagnosis.cause))
        for diagnosis in roots
    ]


def _node_diagnosis(node: NodeExplanation, same_kind: list[Diagnosis], *, answers: bool) -> Diagnosis:
    """Return the diagnosis of the node's state in Slurm, with up to two lines each of the first two of `same_kind`.

    `same_kind` are diagnoses of its logs of the same kind; they raise the confidence from 0.9 to 0.97. If `answers` is
    False, the cause adds that SSH does not answer either.
    """
    cause = node.cause if answers else f"{node.cause} {_('The host does not answer ssh either.')}"
    lines = tuple(line for diagnosis in same_kind[:2] for line in diagnosis.evidence[:2])
    return Diagnosis(
        kind=node.kind,
        mode=node.mode,
        role="root" if node.out else "benign",
        cause=cause,
        subject={"host": node.name},
        confidence=0.97 if same_kind else 0.9,
        evidence=(Evidence("scontrol show node", 1, node.evidence), *lines),
        fix=node.fix,
        retry="elsewhere" if node.out else "yes",
        exclude=node.name if node.out else "",
    )
