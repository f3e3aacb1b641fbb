"""What the site writes under `slurm.options`, joined with what we write."""

from __future__ import annotations

import re
from collections.abc import Mapping

from clusterwright.config.slurm_keys import WORD_LISTS

SITE = "# The site's own (slurm.options)."


def with_options(paragraphs: list[str], options: Mapping[str, str]) -> list[str]:
    """Our paragraphs, words of one list in one line, with the site's values in place of ours or after them."""
    lists = {key: value for key, value in options.items() if key.lower() in WORD_LISTS}
    plain = {key: value for key, value in options.items() if key not in lists}
    kept = [part for part in (_without(paragraph, plain) for paragraph in paragraphs) if part]
    kept = _joined(kept, lists)
    if not plain:
        return kept
    return [*kept, "\n".join([SITE, *(f"{key}={value}" for key, value in plain.items())])]


def _without(paragraph: str, gone: Mapping[str, str]) -> str:
    """The paragraph without the keys that the site sets; nothing when only its reason is left."""
    names = {key.lower() for key in gone}
    lines = [line for line in paragraph.splitlines() if _key(line).lower() not in names]
    return "\n".join(lines) if any(not line.startswith("#") for line in lines) else ""


def _joined(paragraphs: list[str], more: Mapping[str, str]) -> list[str]:
    """Slurm takes the last line of a key, so the words of a list must stand in one: where the key comes first.

    The reasons of the paragraphs that lose their line go along.
    """
    for key in sorted({_key(line) for part in paragraphs for line in part.splitlines()} | set(more)):
        if key.lower() not in WORD_LISTS:
            continue
        holding = [part for part in paragraphs if _key(part.splitlines()[-1]).lower() == key.lower()]
        site = next((value for name, value in more.items() if name.lower() == key.lower()), None)
        if len(holding) + (site is not None) > 1 or (site is not None and not holding):
            paragraphs = _one_line(paragraphs, holding, key, site)
    return paragraphs


def _one_line(paragraphs: list[str], holding: list[str], key: str, site: str | None) -> list[str]:
    reasons = [line for part in holding for line in part.splitlines()[:-1]] + (
        [SITE] if site is not None else []
    )
    values = [part.splitlines()[-1].partition("=")[2] for part in holding] + (
        [site] if site is not None else []
    )
    one = "\n".join([*reasons, f"{key}={_words(values)}"])
    if not holding:
        return [*paragraphs, one]
    others = [part for part in paragraphs if part not in holding[1:]]
    return [one if part == holding[0] else part for part in others]


def _words(values: list[str]) -> str:
    """All words; the last of one name stands, in the place of the first."""
    words: dict[str, str] = {}
    for word in (word.strip() for value in values for word in value.split(",")):
        words[re.split(r"[=:]", word)[0].lower()] = word
    return ",".join(words.values())


def _key(line: str) -> str:
    return "" if line.startswith("#") else line.partition("=")[0].strip()
