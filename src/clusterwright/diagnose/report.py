"""Diagnoses as text: the cause, where, the evidence, the fix, and whether a retry helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clusterwright.diagnose.diagnosis import Diagnosis
from clusterwright.diagnose.reading.quoted import OURS
from clusterwright.i18n import N_, _, _n
from clusterwright.onhost.lib.clean_text import clean
from clusterwright.units import human_percent

_SUBJECTS = {"host": N_("host"), "gpu": "GPU", "path": N_("path"), "rank": "rank", "peer": N_("peer")}
_ROLES = {
    "cascade": N_("a consequence of a failure elsewhere"), "teardown": N_("printed when a run is stopped"),
    "benign": N_("harmless"),
}  # fmt: skip
_RETRIES = {
    "no": N_("no: the job would fail again"), "yes": N_("yes, unchanged"), "elsewhere": N_("yes, on other hosts"),
    "fixed": N_("yes, once the cause is fixed"),
}  # fmt: skip
_MAX_DIAGNOSES = 3  # diagnoses shown without --all

Paint = Callable[[str, str], str]


def uncolored(text: str, _style: str) -> str:
    """Return the text without color."""
    return text


def colored(text: str, style: str) -> str:
    """Return the text in an ANSI style."""
    return f"\x1b[{style}m{text}\x1b[0m"


def format_report(diagnoses: list[Diagnosis], *, everything: bool = False, paint: Paint = uncolored) -> str:
    """Return diagnoses as text: the most probable in full, and those of the next two that are root causes in short.

    With `everything` all in full. If all are normal values, the text states that the logs show no failure.
    """
    if all(diagnosis.kind == "normal" for diagnosis in diagnoses):
        normal = (_normal(diagnosis, paint) for diagnosis in _without_repeats(diagnoses))
        return "\n".join([_("These logs show no failure."), *normal])
    lines = [*_full(diagnoses[0], paint)]
    remaining = (
        diagnoses[1:]
        if everything
        else [diagnosis for diagnosis in diagnoses[1:_MAX_DIAGNOSES] if diagnosis.role == "root"]
    )
    head = [paint(f"{_('less likely')}:", "2")]
    for diagnosis in remaining:
        if diagnosis.kind == "normal":
            lines.append(_normal(diagnosis, paint))
            continue
        lines += ["", *head, *(_full(diagnosis, paint) if everything else _short(diagnosis, paint))]
        head = []
    return "\n".join(lines)


def _without_repeats(diagnoses: list[Diagnosis]) -> list[Diagnosis]:
    """Return the diagnoses without those that repeat a sentence."""
    return list({diagnosis.cause: diagnosis for diagnosis in reversed(diagnoses)}.values())[::-1]


def _normal(diagnosis: Diagnosis, paint: Paint) -> str:
    line = diagnosis.evidence[0]
    return _row(_("normal"), f"{line.source}:{line.line}{OURS}{diagnosis.cause}", paint)


def _full(diagnosis: Diagnosis, paint: Paint) -> Iterator[str]:
    yield _head(diagnosis, paint)
    if diagnosis.role in _ROLES:
        yield f"  {_(_ROLES[diagnosis.role])}"
    yield _row(_("cause"), diagnosis.cause, paint)
    if diagnosis.subject:
        parts = (f"{_(_SUBJECTS[name])} {value}" for name, value in diagnosis.subject.items())
        yield _row(_("where"), ", ".join(parts), paint)
    for number, line in enumerate(diagnosis.evidence):
        yield _row(_("evidence") if number == 0 else "", f"{line.source}:{line.line}{OURS}{line.text}", paint)
    if diagnosis.sightings > len(diagnosis.evidence) > 0:
        count = diagnosis.sightings - len(diagnosis.evidence)
        yield _row("", _n("and {count} similar line", "and {count} similar lines", count), paint)
    yield _row(_("fix"), diagnosis.fix, paint)
    if diagnosis.kind != "unknown":
        yield _row(_("retry"), _(_RETRIES[diagnosis.retry]), paint)
    if diagnosis.exclude:
        yield _row(_("exclude"), diagnosis.exclude, paint)
    if diagnosis.verify:
        yield _row(_("verify"), diagnosis.verify, paint)


def _short(diagnosis: Diagnosis, paint: Paint) -> Iterator[str]:
    yield _head(diagnosis, paint)
    yield _row(_("cause"), diagnosis.cause, paint)
    for line in diagnosis.evidence[:1]:
        yield _row(_("evidence"), f"{line.source}:{line.line}{OURS}{line.text}", paint)


def _head(diagnosis: Diagnosis, paint: Paint) -> str:
    name = (
        diagnosis.mode
        if diagnosis.mode == diagnosis.kind
        else f"{diagnosis.kind}  {diagnosis.mode.partition('/')[2]}"
    )
    if diagnosis.kind == "unknown":
        return paint(name, "1;31")
    return paint(name, "1;31") + "  " + _("confidence {share}", share=human_percent(diagnosis.confidence))


def _row(name: str, value: str, paint: Paint) -> str:
    wide = sum(2 if ord(sign) > 0x2E80 else 1 for sign in name)
    return f"  {paint(name, '1')}{' ' * max(2, 10 - wide)}{clean(value)}"
