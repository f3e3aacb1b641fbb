"""It waits for other jobs."""

from __future__ import annotations

import re

from clusterwright.diagnose.pending.facts import Facts, summary
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import update
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, Message, Waiting


@reason("DependencyNeverSatisfied")
def never_satisfied(facts: Facts) -> Waiting:
    """The job that it waits for has ended in another way than it asks."""
    return Waiting(
        "dependency-never",
        Message(
            f"It waits for `{_dependency(facts)}`, which can no longer become true.",
            f"它等待的条件 `{_dependency(facts)}` 已不可能成立。",
        ),
        NOT_BY_ITSELF,
        update(
            facts,
            "Dependency=",
            Message("wait for nothing, if it can do without", "如果不需要该结果, 就不再等待"),
        ),
    )


@reason("Dependency")
def dependency(facts: Facts) -> Waiting:
    """Other jobs must begin or end first."""
    ids = set(re.findall(r"\d+", re.sub(r"\(.*?\)", "", facts.job["Dependency"])))
    other_jobs = tuple(
        f"{summary(job)} ({job.state})" for job in facts.queue if job.id.partition("_")[0] in ids
    )
    single = "singleton" in facts.job["Dependency"]
    return Waiting(
        "dependency",
        Message(
            "It waits until no other job of its name and user runs (singleton)."
            if single
            else f"It waits for other jobs: `{_dependency(facts)}`.",
            "它等待同一用户的同名作业全部结束 (singleton)。"
            if single
            else f"它等待别的作业: `{_dependency(facts)}`。",
        ),
        Message("when they are as it asks", "这些作业满足条件时"),
        update(
            facts,
            "Dependency=",
            Message("wait for nothing, if it can do without", "如果不需要该结果, 就不再等待"),
        ),
        other_jobs,
    )


def _dependency(facts: Facts) -> str:
    return facts.job["Dependency"]
