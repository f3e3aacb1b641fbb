"""Licenses that it asks for are taken."""

from __future__ import annotations

import re

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import update
from clusterwright.diagnose.pending.waiting import Message, Waiting


@reason("Licenses")
def licenses(facts: Facts) -> Waiting:
    """Which of them are short, and the number that is free."""
    requested = {
        name: int(count or 1) for name, count in re.findall(r"([\w@.-]+)(?::(\d+))?", facts.job["Licenses"])
    }
    free = {name: facts.licenses[name].number("Free") for name in requested if name in facts.licenses}
    short = {name: count for name, count in requested.items() if free.get(name, 0) < count} or requested
    shortage = ", ".join(f"{name}: {count} asked, {free.get(name, 0)} free" for name, count in short.items())
    shortage_zh = ", ".join(
        f"{name}: 要求 {count}, 空闲 {free.get(name, 0)}" for name, count in short.items()
    )
    available = ",".join(
        f"{name}:{min(count, free.get(name, 0))}" for name, count in requested.items() if free.get(name, 0)
    )
    description = (
        Message("ask for what is free", "只要求空闲的数量")
        if available
        else Message("do without, if it can", "如果可以, 就不使用许可")
    )
    return Waiting(
        "licenses",
        Message(f"Licenses are taken ({shortage}).", f"许可已被占用 ({shortage_zh})。"),
        Message("when a job that has them ends", "占用许可的作业结束时"),
        update(facts, f"Licenses={available}", description),
        evidence=tuple(
            ("scontrol show licenses", facts.licenses[name].quoted("LicenseName", "Total", "Used", "Free"))
            for name in short
            if name in facts.licenses
        ),
    )
