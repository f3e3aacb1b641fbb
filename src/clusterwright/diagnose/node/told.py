"""Why a node is as it is, and what its logs tell of, as diagnoses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.judge.calibration import OF_CASCADES
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.node.explain import NodeExplanation
from clusterwright.diagnose.pending.waiting import Words

_BEFORE = Words("Before it was last given back to service: ", "在上次恢复服务之前: ")
_SILENT = Words("The host does not answer ssh either.", "该主机也不响应 ssh。")


def follows() -> tuple[str, ...]:
    """Modes and classes after which a host is not heard of."""
    return knowledge()["node-lost/not-responding"].follows


def told(
    node: NodeExplanation, of_logs: list[Diagnosis], lang: str, *, answers: bool, follows: Sequence[str] = ()
) -> list[Diagnosis]:
    """Slurm's word on it first, then what its kernel and daemons said lately, of one class with it before others.

    Of a host that Slurm does not hear and that answers, what its logs tell to be the cause comes before that word.
    Of a node that Slurm gives jobs, its logs tell alone; and slurmctld has taken its settings as they are.
    """
    aside = {"unknown", *(() if node.kind == "slurm-config" else ("slurm-config",))}
    roots = [each for each in of_logs if each.role == "root"]
    causes = (
        [each for each in roots if {each.kind, each.mode} & {*follows}] if node.unheard and answers else []
    )
    roots = [each for each in roots if each.kind not in aside and each not in causes]
    same = [each for each in roots if each.kind == node.kind]
    rest = [each for each in roots if each.kind != node.kind]
    if not node.out:
        return roots or [_own(node, [], lang, answers=answers)]
    own = _own(node, same, lang, answers=answers)
    if causes:
        own = replace(own, role="cascade", confidence=min(own.confidence, OF_CASCADES))
    return [*(replace(each, exclude=node.name) for each in causes), own, *same, *rest]


def past(of_logs: list[Diagnosis], lang: str) -> list[Diagnosis]:
    """What its logs tell of from before somebody gave it back: done with, as that person or program saw it."""
    before = _BEFORE.zh if lang == "zh" else _BEFORE.en
    known = (each for each in of_logs if each.role == "root" and each.kind != "unknown")
    return [replace(each, cause=before + each.cause) for each in known]


def _own(node: NodeExplanation, same: list[Diagnosis], lang: str, *, answers: bool) -> Diagnosis:
    """What Slurm says, with the lines of the host's own logs that bear it out."""
    cause, mend = (node.cause.zh, node.mend.zh) if lang == "zh" else (node.cause.en, node.mend.en)
    if not answers:
        cause += f" {_SILENT.zh if lang == 'zh' else _SILENT.en}"
    lines = tuple(line for each in same[:2] for line in each.evidence[:2])
    return Diagnosis(
        kind=node.kind,
        mode=node.mode,
        role="root" if node.out else "benign",
        cause=cause,
        subject={"host": node.name},
        confidence=0.97 if same else 0.9,
        evidence=(Evidence("scontrol show node", 1, node.evidence), *lines),
        mend=mend,
        retry="elsewhere" if node.out else "yes",
        exclude=node.name if node.out else "",
    )
