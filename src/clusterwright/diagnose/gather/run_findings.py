"""What a job's records say by themselves, beside what the judge has found in its lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.gather.ended import Gathered, event_line
from clusterwright.diagnose.pending.waiting import Message

_HUNG = Message(
    "Rank {rank} on {host} {words}; all others wait for it in a collective.",
    "{host} 上的 rank {rank} {words}; 其余各 rank 都在集合通信中等待它。",
)
_FIX = Message(
    "see its stack (the file of the run named in the evidence, or `py-spy dump --pid PID` on {host})",
    "查看它的调用栈 (证据中所指的文件, 或在 {host} 上运行 `py-spy dump --pid PID`)",
)


def add_run_findings(
    gathered: Gathered, judged: list[Diagnosis], lang: str, *, fine: bool
) -> list[Diagnosis]:
    """Ranks that hang come first, since our runtime has examined them; a run that is fine and says nothing has none."""
    hung = [_hung(event, lang) for event in gathered.events if event.get("event") == "rank_hung"]
    if fine:
        judged = [diagnosis for diagnosis in judged if diagnosis.kind != "unknown"]
    return [*hung[-1:], *(_with_host(diagnosis, gathered.unreachable) for diagnosis in judged)]


def _with_host(diagnosis: Diagnosis, unreachable: tuple[str, ...]) -> Diagnosis:
    """Of a lost host whose name its lines do not tell: the one of the job's that does not answer."""
    if diagnosis.kind != "node-lost" or diagnosis.subject.get("host") or len(unreachable) != 1:
        return diagnosis
    return replace(diagnosis, subject={"host": unreachable[0], **diagnosis.subject}, exclude=unreachable[0])


def _hung(event: Mapping[str, Any], lang: str) -> Diagnosis:
    """Who is waited for: the rank that was found behind the others and examined."""
    names = {
        "rank": event.get("rank"),
        "host": event.get("on") or event.get("host"),
        "words": event.get("words") or "hangs",
    }
    cause, fix = (_HUNG.zh, _FIX.zh) if lang == "zh" else (_HUNG.en, _FIX.en)
    return Diagnosis(
        kind="user-code",
        mode="runtime/rank-hung",
        role="root",
        cause=cause.format(**names),
        subject={"rank": str(names["rank"]), "host": str(names["host"])},
        confidence=0.8,
        evidence=(Evidence("events of the run", 1, event_line(event)),),
        fix=fix.format(**names),
        retry="yes",
    )
