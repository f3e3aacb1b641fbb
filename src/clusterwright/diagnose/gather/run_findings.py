"""Diagnoses from the records of a run, added to those of its logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.gather.ended import Gathered, event_line
from clusterwright.diagnose.verification import with_verification
from clusterwright.i18n import _
from clusterwright.onhost.lib.numbers import finite
from clusterwright.onhost.lib.run_outcome import CANCELED

_FAULTS = ("rank_exit", "rank_hung", "host_lost", "failover", "nan", "corrupt")


def add_run_findings(gathered: Gathered, judged: list[Diagnosis]) -> list[Diagnosis]:
    """Return the diagnoses, those of the run's own records first; without `unknown` if nothing failed.

    A run whose user canceled it has that cause. What its logs show without an earlier fault is a consequence.
    """
    hung = [_hung(event) for event in gathered.events if event.get("event") == "rank_hung"]
    if gathered.is_fine:
        judged = [diagnosis for diagnosis in judged if diagnosis.kind != "unknown"]
    diagnoses = [*hung[-1:], *(_with_host(diagnosis, gathered.unreachable) for diagnosis in judged)]
    diagnoses = [
        with_verification(diagnosis, gathered.user_sources.__contains__, gathered.hosts)
        for diagnosis in diagnoses
    ]
    if gathered.run_state != CANCELED:
        return diagnoses
    if not has_fault(gathered.events):
        diagnoses = [replace(diagnosis, role="cascade", exclude="") for diagnosis in diagnoses]
    return [_canceled(gathered), *diagnoses]


def has_fault(events: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if a rank or host of the run failed before its user canceled it."""
    ends = [(finite(event.get("time")) or 0.0) for event in events if event.get("reason") == "stopped"]
    end = min(ends, default=float("inf"))
    return any(
        event.get("event") in _FAULTS
        and event.get("code", 1) != 0
        and (finite(event.get("time")) or 0.0) < end
        for event in events
    )


def _canceled(gathered: Gathered) -> Diagnosis:
    """Return the diagnosis of a run that its user canceled."""
    ends = [event for event in gathered.events if event.get("event") == "job_end"]
    evidence = (Evidence("events of the run", 1, event_line(ends[-1])),) if ends else ()
    return Diagnosis(
        kind="other",
        mode="other/cancelled",
        role="root",
        cause=_("The run was canceled; nothing in it failed.")
        if not has_fault(gathered.events)
        else _("The run was canceled."),
        subject={},
        confidence=0.95,
        evidence=evidence,
        fix=_(
            "nothing to fix: `wright train --resume {run}` continues it", run=gathered.run.rpartition("/")[2]
        ),
        retry="yes",
    )


def _with_host(diagnosis: Diagnosis, unreachable: tuple[str, ...]) -> Diagnosis:
    """Return a `node-lost` diagnosis with the job's one unreachable host, if its lines name no host.

    Any other diagnosis, and with no or several unreachable hosts, is returned unchanged.
    """
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
