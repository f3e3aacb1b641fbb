"""Diagnoses from the records of a run, added to those of its logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.gather.ended import Gathered, event_line
from clusterwright.i18n import _


def add_run_findings(gathered: Gathered, judged: list[Diagnosis], *, fine: bool) -> list[Diagnosis]:
    """Put the diagnosis of a hung rank, which the runtime examined, first; drop `unknown` if the run is `fine`."""
    hung = [_hung(event) for event in gathered.events if event.get("event") == "rank_hung"]
    if fine:
        judged = [diagnosis for diagnosis in judged if diagnosis.kind != "unknown"]
    return [*hung[-1:], *(_with_host(diagnosis, gathered.unreachable) for diagnosis in judged)]


def _with_host(diagnosis: Diagnosis, unreachable: tuple[str, ...]) -> Diagnosis:
    """Return a `node-lost` diagnosis with the job's one unreachable host, if its lines name no host."""
    if diagnosis.kind != "node-lost" or diagnosis.subject.get("host") or len(unreachable) != 1:
        return diagnosis
    return replace(diagnosis, subject={"host": unreachable[0], **diagnosis.subject}, exclude=unreachable[0])


def _hung(event: Mapping[str, Any]) -> Diagnosis:
    """Return the diagnosis of a `rank_hung` event."""
    rank, host = event.get("rank"), event.get("on") or event.get("host")
    cause = _(
        "Rank {rank} on {host} hangs; all other ranks wait for it in a collective.", rank=rank, host=host
    )
    if message := event.get("message"):
        cause = _(
            "Rank {rank} on {host} {observation}; all other ranks wait for it in a collective.",
            rank=rank,
            host=host,
            observation=message,
        )
    return Diagnosis(
        kind="user-code",
        mode="runtime/rank-hung",
        role="root",
        cause=cause,
        subject={"rank": str(rank), "host": str(host)},
        confidence=0.8,
        evidence=(Evidence("events of the run", 1, event_line(event)),),
        fix=_(
            "read its stack in the file that the evidence names, or run `py-spy dump --pid PID` on {host}",
            host=host,
        ),
        retry="yes",
    )
