"""What an alert of ours says in English and in Chinese: Prometheus fills in one of them, a picture has both."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from clusterwright.catalog.watch.alert import Words, read

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
