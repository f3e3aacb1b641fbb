"""Alerts that are on, as Alertmanager has them; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from clusterwright.catalog.watch.alert import Words, read
from clusterwright.monitor.picture import Alert

_BLANK = re.compile(r"\{\{ *(.*?) *\}\}")
_NAME = re.compile(r"\w{1,64}")


def both(name: str, said: str) -> tuple[str, str]:
    """English and Chinese of a summary that was filled in; an alert that is not ours is as it was said, in one."""
    words = _words(name)
    if words is None:
        return said, ""
    en, zh = words
    for own in (en.summary, zh.summary):
        if (filled := _filled(own, said)) is not None:
            return _fill(en.summary, filled), _fill(zh.summary, filled)
    return said, ""


@cache
def _words(name: str) -> tuple[Words, Words] | None:
    if not _NAME.fullmatch(name):
        return None
    file = files("clusterwright.catalog.watch") / "alerts" / f"{name}.toml"
    if not file.is_file():
        return None
    words = read(name, file.read_text(encoding="utf-8")).words
    return words["en"], words["zh"]


def _filled(template: str, said: str) -> dict[str, str] | None:
    """What stands where the template has a blank; None where the text is not of that template."""
    blanks = _BLANK.findall(template)
    parts = [re.escape(part) for part in _BLANK.split(template)[::2]]
    found = re.fullmatch("(.*?)".join(parts), said, re.DOTALL)
    return dict(zip(blanks, found.groups(), strict=True)) if found else None


def _fill(template: str, filled: dict[str, str]) -> str:
    return _BLANK.sub(lambda blank: filled.get(blank[1], "?"), template)


_SUBJECT = ("node", "job", "run", "account", "partition", "receiver", "instance")  # the first that there is
_ORDER = {"critical": 0, "warning": 1, "info": 2}


def alerts(said: Iterable[Mapping[str, Any]]) -> tuple[Alert, ...]:
    """The worst first, muted ones last; without the one that is on to show that alerts arrive."""
    found = [_alert(each) for each in said]
    shown = [each for each in found if each.name and each.severity != "none"]
    return tuple(
        sorted(shown, key=lambda each: (each.muted, _ORDER.get(each.severity, len(_ORDER)), each.since))
    )


def _alert(said: Mapping[str, Any]) -> Alert:
    labels, notes = dict(said.get("labels") or {}), dict(said.get("annotations") or {})
    subject = next((str(labels[name]) for name in _SUBJECT if labels.get(name)), "")
    name = str(labels.get("alertname", ""))
    en, zh = both(name, str(notes.get("summary") or notes.get("description") or name))
    return Alert(
        name,
        str(labels.get("severity", "warning")),
        subject,
        float(said.get("since") or 0),
        en,
        str(notes.get("summary_zh") or zh),
        str(notes.get("runbook_url", "")),
        bool(said.get("muted")),
    )
