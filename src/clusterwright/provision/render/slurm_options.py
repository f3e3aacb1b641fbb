"""Merges the site's `slurm.options` with the rendered lines of slurm.conf."""

from __future__ import annotations

import re
from collections.abc import Mapping

from clusterwright.config.slurm_keys import LIST_VALUED_KEYS

SITE = "# The site's own (slurm.options)."


def with_options(paragraphs: list[str], options: Mapping[str, str]) -> list[str]:
    """Return the paragraphs of slurm.conf with the site's options merged into them.

    Values of list keys such as SchedulerParameters are added to ours; any other key replaces ours, at the end.
    """
    lists = {key: value for key, value in options.items() if key.lower() in LIST_VALUED_KEYS}
    scalar_options = {key: value for key, value in options.items() if key not in lists}
    filtered_paragraphs = [
        part for part in (_drop_keys(paragraph, scalar_options) for paragraph in paragraphs) if part
    ]
    filtered_paragraphs = _joined(filtered_paragraphs, lists)
    if not scalar_options:
        return filtered_paragraphs
    return [
        *filtered_paragraphs,
        "\n".join([SITE, *(f"{key}={value}" for key, value in scalar_options.items())]),
    ]


def _drop_keys(paragraph: str, site_options: Mapping[str, str]) -> str:
    """Return the paragraph without keys that the site sets; empty if only its reason is left."""
    names = {key.lower() for key in site_options}
    lines = [line for line in paragraph.splitlines() if _key(line).lower() not in names]
    return "\n".join(lines) if any(not line.startswith("#") for line in lines) else ""


def _joined(paragraphs: list[str], more: Mapping[str, str]) -> list[str]:
    """Return the paragraphs with all lines of a list key, and the site's values, merged into the key's first line.

    Slurm uses only a key's last line. Comments of the merged lines are kept.
    """
    for key in sorted({_key(line) for part in paragraphs for line in part.splitlines()} | set(more)):
        if key.lower() not in LIST_VALUED_KEYS:
            continue
        holding = [part for part in paragraphs if _key(part.splitlines()[-1]).lower() == key.lower()]
        site = next((value for name, value in more.items() if name.lower() == key.lower()), None)
        if len(holding) + (site is not None) > 1 or (site is not None and not holding):
            paragraphs = _merge_list(paragraphs, holding, key, site)
    return paragraphs


def _merge_list(paragraphs: list[str], holding: list[str], key: str, site: str | None) -> list[str]:
    reasons = [line for part in holding for line in part.splitlines()[:-1]] + (
        [SITE] if site is not None else []
    )
    values = [part.splitlines()[-1].partition("=")[2] for part in holding] + (
        [site] if site is not None else []
    )
    merged_paragraph = "\n".join([*reasons, f"{key}={_merge_values(values)}"])
    if not holding:
        return [*paragraphs, merged_paragraph]
    other_paragraphs = [part for part in paragraphs if part not in holding[1:]]
    return [merged_paragraph if part == holding[0] else part for part in other_paragraphs]


def _merge_values(values: list[str]) -> str:
    """Return comma-separated lists joined; of words with one name (`bf_window=`) the last counts, placed first."""
    tokens_by_name: dict[str, str] = {}
    for token in (token.strip() for value in values for token in value.split(",")):
        tokens_by_name[re.split(r"[=:]", token)[0].lower()] = token
    return ",".join(tokens_by_name.values())


def _key(line: str) -> str:
    return "" if line.startswith("#") else line.partition("=")[0].strip()
