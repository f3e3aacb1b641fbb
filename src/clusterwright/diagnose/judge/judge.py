"""Rank the cases by weight and turn them into diagnoses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.judge.case import Case, cases, votes
from clusterwright.diagnose.judge.counting import absent, counted
from clusterwright.diagnose.judge.sighting import NormalValue, Observations, Position
from clusterwright.diagnose.judge.weigh import confidence, followed, weigh
from clusterwright.i18n import N_, _

NAMES = ("host", "gpu", "path", "rank", "peer")
_BLAMES = 2  # ranks that must name a peer before the peer's host is the subject


def subject(case: Case) -> dict[str, str]:
    """Return host, GPU, path, rank and peer that a case is about, each as most lines name it, without unknown ones.

    A peer that several ranks name becomes the host.
    """
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
    """Return the rank that is absent from a collective in which all others wait.

    Empty if there is not exactly one, or if the failure mode does not count collectives.
    """
    return absent(case.sightings) if case.mode.counted == "collectives" else ""


def _only(case: Case, name: str) -> str:
    """Return the one host or rank of all lines that name one: some logs repeat lines of a rank without its number."""
    values = {getattr(sighting, name) for sighting in case.sightings} - {""}
    return values.pop() if len(values) == 1 else ""


def names(case: Case) -> dict[str, str]:
    """Return the values that fill the fields in a failure mode's texts, such as a host or a GPU.

    They are from the lines that matched; of lines that differ the earliest counts.
    """
    values: dict[str, str] = {}
    for sighting in case.sightings:
        for name, value in sighting.names.items():
            values.setdefault(name, value)
    return {**values, **subject(case), "source": case.first_sighting.position.source}


_NAMES = re.compile(r"(?<!\$)\{([a-z_][a-z0-9_]*)\}")
_UNNAMED = {  # texts for fields without a value
    "host": N_("a host"), "node": N_("a host"), "peer": N_("a peer"), "rank": N_("a rank"), "gpu": N_("a GPU"),
    "path": N_("a file"), "port": N_("a port"), "interface": N_("an interface"), "module": N_("a module"),
    "device": N_("a device"), "user": N_("the user"),
}  # fmt: skip


def filled(text: str, names: Mapping[str, str]) -> str:
    """Return a mode's cause or fix with its `{name}` fields replaced, and a capital letter first.

    A field without a value becomes a general word, such as `a host`; a value keeps its letters, also at the beginning.
    """

    def name(match: re.Match[str]) -> str:
        key = match[1]
        if key in names:
            return names[key]
        return _(_UNNAMED[key]) if key in _UNNAMED else key.replace("_", " ")

    result = _NAMES.sub(name, text)
    first = _NAMES.match(text)
    return result if first and first[1] in names else result[:1].upper() + result[1:]


LEAST = 0.02  # modes with a lower weight are ruled out
QUOTED = 6  # lines of evidence in one diagnosis
MAYBE = 0.5  # factor of the weight of an alternative mode (`maybe`)


def judge(observations: Observations) -> list[Diagnosis]:
    """Return the diagnoses of failures, the most probable first, then the normal values of outputs.

    None of failures if nothing failed; `unknown` if no failure mode matches the failure.
    """
    return [*_failures(observations), *map(_normal, observations.normal)]


def _normal(value: NormalValue) -> Diagnosis:
    evidence = Evidence(value.position.source, value.position.line, value.text)
    return Diagnosis("normal", "normal", "benign", value.sentence, {}, 1.0, (evidence,), "", "no")


def _failures(observations: Observations) -> list[Diagnosis]:
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
        return _diagnoses(_with_maybe(candidates, observations))
    last_positions = {position for position, _ in observations.last_lines}
    if last_positions and last_positions.isdisjoint(_harmless_positions(all_cases)):
        return [_unknown(observations)]
    return _diagnoses([(case.mode.certain, case) for _, case in weighed if case.role == "benign"])


def _with_maybe(candidates: list[tuple[float, Case]], observations: Observations) -> list[tuple[float, Case]]:
    """Return the candidates with the alternative modes (`maybe`) of the most probable case, at half its weight.

    Alternatives that are candidates already stay as they are.
    """
    weight, top_case = candidates[0]
    mode_ids = {case.mode.id for _, case in candidates}
    modes = [observations.modes[name] for name in top_case.mode.maybe if name not in mode_ids]
    also = [(weight * MAYBE, replace(top_case, mode=mode, confirmed=())) for mode in modes]
    return sorted([*candidates, *also], key=lambda pair: -pair[0])


def _harmless_positions(all_cases: list[Case]) -> Iterable[Position]:
    for case in all_cases:
        if case.role == "benign":
            yield from (sighting.position for sighting in case.sightings)


def _diagnoses(weighed: list[tuple[float, Case]]) -> list[Diagnosis]:
    best = max((weight for weight, _ in weighed), default=0.0)
    diagnoses = []
    for weight, case in weighed:
        against = sum(
            other_weight for other_weight, other_case in weighed if other_case.mode.kind != case.mode.kind
        )
        diagnoses.append(_diagnosis(case, confidence(weight, best, against, case.role)))
    return diagnoses


def _diagnosis(case: Case, sure: float) -> Diagnosis:
    mode, case_subject, called = case.mode, subject(case), names(case)
    cause, fix = _(mode.cause), _(mode.fix)
    return Diagnosis(
        kind=mode.kind,
        mode=mode.id,
        role=case.role,
        cause=filled(cause, called),
        subject=case_subject,
        confidence=sure,
        evidence=tuple(_evidence(case)),
        fix=filled(fix, called),
        retry=mode.retry,
        exclude=case_subject.get("host", "") if mode.exclude == "host" else "",
        sightings=case.count,
    )


def _evidence(case: Case) -> Iterable[Evidence]:
    """Yield the first line of each rank and signature, then the confirming lines; no line twice."""
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


def _unknown(observations: Observations) -> Diagnosis:
    cause = _("No known failure mode matches these logs.")
    fix = _("read the quoted line and the lines before it; add the logs of all ranks and the kernel log")
    lines = [
        Evidence(position.source, position.line, text)
        for position, texts in observations.last_lines
        for text in texts[:1]
    ]
    return Diagnosis("unknown", "unknown", "unknown", cause, {}, 0.0, tuple(lines[:QUOTED]), fix, "no")
