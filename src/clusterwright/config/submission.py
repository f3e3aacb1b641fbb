"""Fields of a job's submission to Slurm: the range of its array, and the jobs that it waits for."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from clusterwright.config.field import refuse
from clusterwright.config.names import matching
from clusterwright.i18n import N_, _

_RANGE = r"[0-9]{1,7}(-[0-9]{1,7}(:[1-9][0-9]{0,6})?)?"
_ARRAY = rf"{_RANGE}(,{_RANGE})*(%[1-9][0-9]*)?"
_EARLIER = r"[1-9][0-9]{0,9}|[A-Za-z][A-Za-z0-9_.-]{0,95}"  # a job id, or the name of a run
_WITH_CONDITION = re.compile(r"(after\w*):([\w:+.-]+)")


def _ascending(text: str) -> str:
    """Return the array unchanged; refuse a range from a higher to a lower number, which has no runs."""
    for part in text.partition("%")[0].split(","):
        low, _hyphen, high = part.partition(":")[0].partition("-")
        if high and int(low) > int(high):
            ascending = text.replace(f"{low}-{high}", f"{high}-{low}", 1)
            message = _("`{text}` has a descending range; it is {ascending}", text=text, ascending=ascending)
            raise refuse("bad-name", message, _('write "{ascending}"', ascending=ascending))
    return text


def _without_condition(value: object) -> object:
    """Return the value unchanged; refuse a condition of sbatch, such as afterok:1234."""
    match = _WITH_CONDITION.fullmatch(value) if isinstance(value, str) else None
    if not match:
        return value
    jobs = ",".join(re.split(r"[:+]", match[2]))
    message = _("`{value}` has a condition of Slurm", value=value)
    if match[1] == "afterok":
        raise refuse("bad-name", message, _("write {jobs}: each must finish successfully", jobs=jobs))
    fix = _(
        "write {jobs}; {condition} does not exist here: each must finish successfully",
        jobs=jobs,
        condition=match[1],
    )
    raise refuse("bad-name", message, fix)


ArrayRange = Annotated[
    str,
    *matching(_ARRAY, N_("an array range"), N_('write a range for --array: "0-9", "1,3,5" or "0-9%2"')),
    AfterValidator(_ascending),
]
Earlier = Annotated[
    str,
    BeforeValidator(_without_condition),
    *matching(
        _EARLIER,
        N_("a job id or a run"),
        N_('write a job id in quotes, such as "1234", or the name of a run'),
    ),
]
