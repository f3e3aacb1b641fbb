"""Who came first, who blames whom, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.judge.calibration import confidence
from clusterwright.diagnose.judge.case import Case, cases
from clusterwright.diagnose.judge.counting import counted
from clusterwright.diagnose.judge.following import followed
from clusterwright.diagnose.judge.sighting import Known, Place
from clusterwright.diagnose.judge.subject import names, subject
from clusterwright.diagnose.judge.weigh import weigh
from clusterwright.diagnose.judge.words import filled, unknown

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
