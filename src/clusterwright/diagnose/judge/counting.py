"""Rules over all sightings of a failure mode: whether a fault stays with one GPU, or whether ranks diverged.

A mode names its rule in `counted`, and in its first `maybe` the mode that takes its place if the numbers are against
it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from clusterwright.diagnose.judge.case import Case
from clusterwright.diagnose.judge.sighting import Sighting, Witnessed
from clusterwright.diagnose.mode import Mode
from clusterwright.onhost.lib.numbers import ascii_int

ITSELF, ALTERNATIVE = "itself", "other"
MANY_HOSTS = 3  # not responding at once: the fault is in what connects them
_FEW = 2
_MIN_RANKS = 3  # ranks that must have logged before one counts as absent


class Count(NamedTuple):
    """The verdict of a rule (ITSELF: the mode, ALTERNATIVE: its first `maybe`), its sightings, and further evidence."""

    verdict: str
    sightings: tuple[Sighting, ...]
    evidence: tuple[Sighting, ...] = ()


def counted(cases: Sequence[Case], modes: Mapping[str, Mode]) -> list[Case]:
    """Return the cases after the counting rules of their modes; modes without a rule are unchanged.

    The verdict ITSELF adds evidence to a case. ALTERNATIVE makes it doubted, and adds a case of its mode's first
    `maybe`.
    """
    result: list[Case] = []
    for case in cases:
        count = RULES.get(case.mode.counted, _nothing)(case.sightings)
        if count is None:
            result.append(case)
        elif count.verdict == ITSELF:
            result.append(replace(case, confirmed=(*case.confirmed, *_lines(count.evidence))))
        else:
            result += [replace(case, doubted=True), _instead(case, count, modes[case.mode.maybe[0]])]
    instead = {case.mode.id for case in result if case not in cases and not case.doubted}
    return [case for case in result if case not in cases or case.mode.id not in instead]


def _instead(case: Case, count: Count, mode: Mode) -> Case:
    return replace(
        case,
        mode=mode,
        role=mode.role,
        sightings=count.sightings,
        ranks=frozenset(sighting.rank or sighting.position.source for sighting in count.sightings),
        confirmed=_lines(count.evidence),
        doubted=False,
    )


def _lines(sightings: Sequence[Sighting]) -> tuple[Witnessed, ...]:
    return tuple(Witnessed(sighting.position, sighting.text) for sighting in sightings[:_FEW])


def _nothing(_: Sequence[Sighting]) -> None:
    return None


def of_gpus(sightings: Sequence[Sighting]) -> Count | None:
    """Return ALTERNATIVE (the program's fault) for several GPUs, ITSELF for one GPU in several processes, else None."""
    gpus = {
        (sighting.host, sighting.names["gpu"]): sighting
        for sighting in reversed(sightings)
        if "gpu" in sighting.names
    }
    if len(gpus) >= _FEW:
        return Count(ALTERNATIVE, tuple(gpus.values()))
    processes = {
        sighting.names["pid"]: sighting for sighting in reversed(sightings) if "pid" in sighting.names
    }
    if len(gpus) == 1 and len(processes) >= _FEW:
        return Count(ITSELF, tuple(sightings), tuple(processes.values()))
    return None


def of_hosts(sightings: Sequence[Sighting]) -> Count | None:
    """Return ALTERNATIVE (a common cause) if MANY_HOSTS hosts or more stop responding, else None."""
    hosts = {sighting.names["host"]: sighting for sighting in reversed(sightings) if "host" in sighting.names}
    return Count(ALTERNATIVE, tuple(hosts.values())) if len(hosts) >= MANY_HOSTS else None


def of_collectives(sightings: Sequence[Sighting]) -> Count | None:
    """Return ALTERNATIVE if ranks of a process group wait in different collectives, the minority first, else None.

    Waits without the group's name count only if they are of exactly two kinds.
    """
    for waits in _waits(sightings).values():
        kinds = Counter(_collective(sighting) for sighting in waits)
        if len(kinds) < _FEW or (len(kinds) > _FEW and not waits[0].names.get("group")):
            continue  # without the group's name, many kinds mean many groups
        ordered = sorted(waits, key=lambda sighting: (kinds[_collective(sighting)], _number(sighting)))
        minority = [sighting for sighting in ordered if _collective(sighting) == _collective(ordered[0])]
        majority = [sighting for sighting in ordered if _collective(sighting) != _collective(ordered[0])]
        return Count(ALTERNATIVE, tuple(minority), tuple(majority))
    return None


def absent(sightings: Sequence[Sighting]) -> str:
    """Return the one rank that does not wait while all others do; empty if there is not exactly one.

    At least _MIN_RANKS must wait. The rank with the highest number is never returned: logs do not tell how many ranks
    there are.
    """
    numbers = {ascii_int(sighting.rank) for sighting in sightings}
    ranks = {number for number in numbers if number is not None}
    if len(ranks) < _MIN_RANKS or max(ranks) != len(ranks):  # a log may name any rank
        return ""
    return str(sum(range(len(ranks) + 1)) - sum(ranks))


def _waits(sightings: Sequence[Sighting]) -> dict[str, list[Sighting]]:
    """Return the first wait of each rank, by process group."""
    first_waits: dict[str, dict[str, Sighting]] = defaultdict(dict)
    for sighting in sightings:
        if sighting.rank and "sequence" in sighting.names:
            first_waits[sighting.names.get("group", "")].setdefault(sighting.rank, sighting)
    return {group: list(waits.values()) for group, waits in first_waits.items()}


def _collective(sighting: Sighting) -> tuple[str, ...]:
    return tuple(sighting.names.get(name, "") for name in ("sequence", "operation", "size"))


def _number(sighting: Sighting) -> int:
    return int(sighting.names["sequence"])


RULES: Mapping[str, Callable[[Sequence[Sighting]], Count | None]] = {
    "gpus": of_gpus,
    "hosts": of_hosts,
    "collectives": of_collectives,
}
