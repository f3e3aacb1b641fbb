"""Who came first, who blames whom, and how sure that is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.judge.calibration import confidence
from clusterwright.diagnose.judge.case import Case, cases, votes
from clusterwright.diagnose.judge.counting import absent, counted
from clusterwright.diagnose.judge.sighting import Observations, Position
from clusterwright.diagnose.judge.weigh import followed, weigh
from clusterwright.i18n import _, in_language

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
    values = {getattr(sighting, name) for sighting in case.sightings} - {""}
    return values.pop() if len(values) == 1 else ""


def names(case: Case) -> dict[str, str]:
    """All names for the texts of a mode, the first sightings' where they differ."""
    values: dict[str, str] = {}
    for sighting in case.sightings:
        for name, value in sighting.names.items():
            values.setdefault(name, value)
    return {**values, **subject(case), "source": case.first_sighting.position.source}


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
        fallbacks = _UNNAMED.get(key, (key.replace("_", " "), key))
        return names.get(key) or fallbacks[LANGUAGES.index(lang)]

    result = _NAMES.sub(name, text)
    return result[:1].upper() + result[1:]


def unknown(lang: str) -> tuple[str, str]:
    """Cause and fix where nothing is recognised."""
    return _UNKNOWN[lang]


LEAST = 0.02  # weights below are of modes that were ruled out by all there is
QUOTED = 6  # lines for one diagnosis
MAYBE = 0.5  # of its weight, for what its lines may tell of as well


def judge(observations: Observations, lang: str = "en") -> list[Diagnosis]:
    """Diagnoses, the likeliest first; none where nothing failed, `unknown` where what failed is not known."""
    all_cases = followed(counted(cases(observations), observations.modes))
    weighed = sorted(
        (
            (weigh(case, [other_case for other_case in all_cases if other_case is not case]), case)
            for case in all_cases
        ),
        key=lambda pair: (-pair[0], -pair[1].particular, pair[1].mode.id),
    )
    candidates = [(weight, case) for weight, case in weighed if weight > LEAST]
    if candidates:
        return _diagnoses(_with_maybe(candidates, observations), lang)
    if observations.last_lines and not any(
        _is_harmless(position, all_cases) for position, _ in observations.last_lines
    ):
        return [_unknown(observations, lang)]
    return _diagnoses([(case.mode.certain, case) for _, case in weighed if case.role == "benign"], lang)


def _with_maybe(candidates: list[tuple[float, Case]], observations: Observations) -> list[tuple[float, Case]]:
    """What the lines of the likeliest may tell of as well comes after it, as far as it is not there by itself."""
    weight, top_case = candidates[0]
    mode_ids = {case.mode.id for _, case in candidates}
    modes = [observations.modes[name] for name in top_case.mode.maybe if name not in mode_ids]
    also = [(weight * MAYBE, replace(top_case, mode=mode, confirmed=())) for mode in modes]
    return sorted([*candidates, *also], key=lambda pair: -pair[0])


def _is_harmless(position: Position, all_cases: list[Case]) -> bool:
    return any(
        sighting.position == position
        for case in all_cases
        if case.role == "benign"
        for sighting in case.sightings
    )


def _diagnoses(weighed: list[tuple[float, Case]], lang: str) -> list[Diagnosis]:
    best = max((weight for weight, _ in weighed), default=0.0)
    diagnoses = []
    for weight, case in weighed:
        against = sum(
            other_weight for other_weight, other_case in weighed if other_case.mode.kind != case.mode.kind
        )
        diagnoses.append(_diagnosis(case, confidence(weight, best, against, case.role), lang))
    return diagnoses


def _diagnosis(case: Case, sure: float, lang: str) -> Diagnosis:
    mode, case_subject, called = case.mode, subject(case), names(case)
    with in_language("zh" if lang == "zh" else "en"):
        cause, fix = _(mode.cause), _(mode.fix)
    return Diagnosis(
        kind=mode.kind,
        mode=mode.id,
        role=case.role,
        cause=filled(cause, called, lang),
        subject=case_subject,
        confidence=sure,
        evidence=tuple(_evidence(case)),
        fix=filled(fix, called, lang),
        retry=mode.retry,
        exclude=case_subject.get("host", "") if mode.exclude == "host" else "",
        sightings=case.count,
    )


def _evidence(case: Case) -> Iterable[Evidence]:
    """The first line of each rank and signature, and then what confirms them; each place once."""
    chosen_keys = set()
    lines = [
        (sighting.position, sighting.text, (sighting.signature, sighting.rank)) for sighting in case.sightings
    ]
    lines += [
        (witnessed.position, witnessed.text, (number, ""))
        for number, witnessed in enumerate(case.confirmed, -len(case.confirmed))
    ]
    chosen = []
    for position, text, about in lines:
        if about not in chosen_keys and position not in chosen_keys:
            chosen_keys |= {about, position}
            chosen.append(Evidence(position.source, position.line, text))
    return chosen[:QUOTED]


def _unknown(observations: Observations, lang: str) -> Diagnosis:
    cause, fix = unknown(lang)
    lines = [
        Evidence(position.source, position.line, text)
        for position, texts in observations.last_lines
        for text in texts[:1]
    ]
    return Diagnosis("unknown", "unknown", "unknown", cause, {}, 0.0, tuple(lines[:QUOTED]), fix, "no")
