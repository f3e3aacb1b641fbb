"""What a case is about: the host, GPU, path, rank or peer that its lines name."""

from __future__ import annotations

from clusterwright.diagnose.judge.case import Case, votes
from clusterwright.diagnose.judge.counting import absent

NAMES = ("host", "gpu", "path", "rank", "peer")
_BLAMES = 2  # ranks: a peer that so many name is the one


def subject(case: Case) -> dict[str, str]:
    """Its names, those first that tell most; a peer that several blame is the host."""
    names: dict[str, str] = {}
    for name in NAMES:
        if counted := votes(case.sightings, name).most_common(1):
            names[name] = counted[0][0]
    peers = votes(case.sightings, "peer").most_common(1)
    if peers and peers[0][1] >= _BLAMES and "host" not in names:
        names["host"] = peers[0][0]
    if "host" not in names and "peer" not in names and (host := _only(case, "host")):
        names["host"] = host
    if "rank" not in names and (rank := _missed(case) or _only(case, "rank")):
        names["rank"] = rank
    return {name: names[name] for name in NAMES if name in names}


def _missed(case: Case) -> str:
    """Of a collective that others wait in: who is not there."""
    return absent(case.sightings) if case.mode.counted == "collectives" else ""


def _only(case: Case, name: str) -> str:
    """Whose all lines are, as far as they say it: some logs repeat what a rank said without its name."""
    said = {getattr(each, name) for each in case.sightings} - {""}
    return said.pop() if len(said) == 1 else ""


def names(case: Case) -> dict[str, str]:
    """All names for the texts of a mode, the first sightings' where they differ."""
    found: dict[str, str] = {}
    for each in case.sightings:
        for name, value in each.names.items():
            found.setdefault(name, value)
    return {**found, **subject(case), "source": case.first.place.source}
