"""Explain that requested licenses are in use."""

from __future__ import annotations

import re

from clusterwright.diagnose.pending.changes import update
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import Waiting
from clusterwright.i18n import _


@reason("Licenses")
def licenses(facts: Facts) -> Waiting:
    """Explain that too few of the requested licenses are free, and propose to request only free ones, or none."""
    requested = {
        name: int(count or 1) for name, count in re.findall(r"([\w@.-]+)(?::(\d+))?", facts.job["Licenses"])
    }
    free = {name: facts.licenses[name].number("Free") for name in requested if name in facts.licenses}
    short = {name: count for name, count in requested.items() if free.get(name, 0) < count} or requested
    shortage = ", ".join(
        _(
            "{license}: {requested} requested, {free} free",
            license=name,
            requested=count,
            free=free.get(name, 0),
        )
        for name, count in short.items()
    )
    available = ",".join(
        f"{name}:{min(count, free.get(name, 0))}" for name, count in requested.items() if free.get(name, 0)
    )
    description = (
        _("request only the licenses that are free")
        if available
        else _("run without licenses if the job can")
    )
    return Waiting(
        "licenses",
        _("Licenses are in use ({licenses}).", licenses=shortage),
        _("when a job that uses the licenses ends"),
        update(facts, f"Licenses={available}", description),
        evidence=tuple(
            ("scontrol show licenses", facts.licenses[name].quoted("LicenseName", "Total", "Used", "Free"))
            for name in short
            if name in facts.licenses
        ),
    )
