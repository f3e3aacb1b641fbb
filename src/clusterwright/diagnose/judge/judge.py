"""Who came first, who blames whom, and how sure that is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.judge.calibration import confidence
from clusterwright.diagnose.judge.case import Case, cases, votes
from clusterwright.diagnose.judge.counting import absent, counted
from clusterwright.diagnose.judge.sighting import Known, Place
from clusterwright.diagnose.judge.weigh import followed, weigh

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


LANGUAGES = ("en", "zh")
_NAMES = re.compile(r"(?<!\$)\{([a-z_][a-z0-9_]*)\}")
# What stands for a name that the line did not give.
_UNNAMED = {
    "host": ("a host", "某台主机"),
    "node": ("a host", "某台主机"),
    "peer": ("a peer", "某个对端"),
    "rank": ("a rank", "某个 rank"),
    "gpu": ("a GPU", "某块 GPU"),
    "path": ("a file", "某个文件"),
    "port": ("a port", "某个端口"),
    "interface": ("an interface", "某个网卡"),
    "module": ("a module", "某个模块"),
    "device": ("a device", "某个设备"),
    "user": ("the user", "该用户"),
}
_UNKNOWN = {
    "en": (
        "Nothing here is known to be a cause.",
        "Read the quoted line and what stands before it; give the logs of all ranks and the kernel's log as well.",
    ),
    "zh": ("其中没有已知的故障特征。", "请查看所引用的行及其上文；并提供所有 rank 的日志与内核日志。"),
}


def filled(text: str, names: Mapping[str, str], lang: str) -> str:
    """The text with its names."""

    def name(match: re.Match[str]) -> str:
        key = match[1]
        known = _UNNAMED.get(key, (key.replace("_", " "), key))
        return names.get(key) or known[LANGUAGES.index(lang)]

    done = _NAMES.sub(name, text)
    return done[:1].upper() + done[1:]


def unknown(lang: str) -> tuple[str, str]:
    """Cause and mend where nothing is recognised."""
    return _UNKNOWN[lang]


LEAST = 0.02  # weights below are of modes that were ruled out by all there is
QUOTED = 6  # lines for one diagnosis
MAYBE = 0.5  # of its weight, for what its lines may tell of as well


def judge(known: Known, lang: str = "en") -> list[Diagnosis]:
    """Diagnoses, the likeliest first; none where nothing failed, `unknown` where what failed is not known."""
    found = followed(counted(cases(known), known.modes))
    weighed = sorted(
        ((weigh(case, [each for each in found if each is not case]), case) for case in found),
        key=lambda pair: (-pair[0], -pair[1].particular, pair[1].mode.id),
    )
    told = [(weight, case) for weight, case in weighed if weight > LEAST]
    if told:
        return _diagnoses(_with_maybe(told, known), lang)
    if known.last_words and not any(_is_harmless(place, found) for place, _ in known.last_words):
        return [_unknown(known, lang)]
    return _diagnoses([(case.mode.certain, case) for _, case in weighed if case.role == "benign"], lang)


def _with_maybe(told: list[tuple[float, Case]], known: Known) -> list[tuple[float, Case]]:
    """What the lines of the likeliest may tell of as well comes after it, as far as it is not there by itself."""
    weight, first = told[0]
    there = {case.mode.id for _, case in told}
    modes = [known.modes[name] for name in first.mode.maybe if name not in there]
    also = [(weight * MAYBE, replace(first, mode=mode, confirmed=())) for mode in modes]
    return sorted([*told, *also], key=lambda pair: -pair[0])


def _is_harmless(place: Place, found: list[Case]) -> bool:
    return any(each.place == place for case in found if case.role == "benign" for each in case.sightings)


def _diagnoses(weighed: list[tuple[float, Case]], lang: str) -> list[Diagnosis]:
    best = max((weight for weight, _ in weighed), default=0.0)
    told = []
    for weight, case in weighed:
        against = sum(other for other, each in weighed if each.mode.kind != case.mode.kind)
        told.append(_diagnosis(case, confidence(weight, best, against, case.role), lang))
    return told


def _diagnosis(case: Case, sure: float, lang: str) -> Diagnosis:
    mode, whose, called = case.mode, subject(case), names(case)
    cause, mend = (mode.cause, mode.mend) if lang == "en" else (mode.cause_zh, mode.mend_zh)
    return Diagnosis(
        kind=mode.kind,
        mode=mode.id,
        role=case.role,
        cause=filled(cause, called, lang),
        subject=whose,
        confidence=sure,
        evidence=tuple(_evidence(case)),
        mend=filled(mend, called, lang),
        retry=mode.retry,
        exclude=whose.get("host", "") if mode.exclude == "host" else "",
        sightings=case.count,
    )


def _evidence(case: Case) -> Iterable[Evidence]:
    """The first line of each rank and signature, and then what confirms them; each place once."""
    said = set()
    lines = [(each.place, each.text, (each.signature, each.rank)) for each in case.sightings]
    lines += [
        (each.place, each.text, (number, ""))
        for number, each in enumerate(case.confirmed, -len(case.confirmed))
    ]
    chosen = []
    for place, text, about in lines:
        if about not in said and place not in said:
            said |= {about, place}
            chosen.append(Evidence(place.source, place.line, text))
    return chosen[:QUOTED]


def _unknown(known: Known, lang: str) -> Diagnosis:
    cause, mend = unknown(lang)
    lines = [
        Evidence(place.source, place.line, text) for place, texts in known.last_words for text in texts[:1]
    ]
    return Diagnosis("unknown", "unknown", "unknown", cause, {}, 0.0, tuple(lines[:QUOTED]), mend, "no")
