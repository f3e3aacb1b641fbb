"""What no line tells alone, and several do: whether a fault stays with one GPU, or ranks went apart.

A mode says with `counted` by which rule its sightings are counted, and with its first `maybe` which mode it is
otherwise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from clusterwright.diagnose.judge.case import Case
from clusterwright.diagnose.judge.sighting import Sighting, Witnessed
from clusterwright.diagnose.mode import Mode

ITSELF, OTHER = "itself", "other"
MANY_HOSTS = 3  # that fall silent at once: what lies between them
_FEW = 2
_MOST_HEARD = 3  # ranks that must be heard before one is missed


class Count(NamedTuple):
    """Which mode the numbers speak for, whose lines show it first, and lines that differ from them."""

    told: str
    sightings: tuple[Sighting, ...]
    others: tuple[Sighting, ...] = ()


def counted(cases: Sequence[Case], modes: Mapping[str, Mode]) -> list[Case]:
    """All cases; where numbers speak for another mode, that one is there, and the first is doubted."""
    found: list[Case] = []
    for case in cases:
        count = RULES.get(case.mode.counted, _nothing)(case.sightings)
        if count is None:
            found.append(case)
        elif count.told == ITSELF:
            found.append(replace(case, confirmed=(*case.confirmed, *_lines(count.others))))
        else:
            found += [replace(case, doubted=True), _instead(case, count, modes[case.mode.maybe[0]])]
    instead = {case.mode.id for case in found if case not in cases and not case.doubted}
    return [case for case in found if case not in cases or case.mode.id not in instead]


def _instead(case: Case, count: Count, mode: Mode) -> Case:
    return replace(
        case,
        mode=mode,
        role=mode.role,
        sightings=count.sightings,
        ranks=frozenset(each.rank or each.place.source for each in count.sightings),
        confirmed=_lines(count.others),
        doubted=False,
    )


def _lines(sightings: Sequence[Sighting]) -> tuple[Witnessed, ...]:
    return tuple(Witnessed(each.place, each.text) for each in sightings[:_FEW])


def _nothing(_: Sequence[Sighting]) -> None:
    return None


def of_gpus(sightings: Sequence[Sighting]) -> Count | None:
    """Several GPUs with one fault have one program in common; one GPU with it in several processes has itself."""
    gpus = {(each.host, each.names["gpu"]): each for each in reversed(sightings) if "gpu" in each.names}
    if len(gpus) >= _FEW:
        return Count(OTHER, tuple(gpus.values()))
    processes = {each.names["pid"]: each for each in reversed(sightings) if "pid" in each.names}
    if len(gpus) == 1 and len(processes) >= _FEW:
        return Count(ITSELF, tuple(sightings), tuple(processes.values()))
    return None


def of_hosts(sightings: Sequence[Sighting]) -> Count | None:
    """Many hosts that fall silent are not lost one by one."""
    hosts = {each.names["host"]: each for each in reversed(sightings) if "host" in each.names}
    return Count(OTHER, tuple(hosts.values())) if len(hosts) >= MANY_HOSTS else None


def of_collectives(sightings: Sequence[Sighting]) -> Count | None:
    """Ranks of one group that wait in different collectives went apart; the one that is alone comes first."""
    for waits in _waits(sightings).values():
        kinds = Counter(_collective(each) for each in waits)
        if len(kinds) < _FEW or (len(kinds) > _FEW and not waits[0].names.get("group")):
            continue  # without a name of the group, many kinds are many groups
        ordered = sorted(waits, key=lambda each: (kinds[_collective(each)], _number(each)))
        alone = [each for each in ordered if _collective(each) == _collective(ordered[0])]
        others = [each for each in ordered if _collective(each) != _collective(ordered[0])]
        return Count(OTHER, tuple(alone), tuple(others))
    return None


def absent(sightings: Sequence[Sighting]) -> str:
    """The one rank that did not say that it waits, where all others did; empty where that cannot be told."""
    heard = {int(each.rank) for each in sightings if each.rank.isdigit()}
    missing = set(range(max(heard, default=-1) + 1)) - heard
    return str(missing.pop()) if len(missing) == 1 and len(heard) >= _MOST_HEARD else ""


def _waits(sightings: Sequence[Sighting]) -> dict[str, list[Sighting]]:
    """The first wait of each rank, by group."""
    found: dict[str, dict[str, Sighting]] = defaultdict(dict)
    for each in sightings:
        if each.rank and "sequence" in each.names:
            found[each.names.get("group", "")].setdefault(each.rank, each)
    return {group: list(waits.values()) for group, waits in found.items()}


def _collective(sighting: Sighting) -> tuple[str, ...]:
    return tuple(sighting.names.get(name, "") for name in ("sequence", "operation", "size"))


def _number(sighting: Sighting) -> int:
    return int(sighting.names["sequence"])


RULES: Mapping[str, Callable[[Sequence[Sighting]], Count | None]] = {
    "gpus": of_gpus,
    "hosts": of_hosts,
    "collectives": of_collectives,
}
