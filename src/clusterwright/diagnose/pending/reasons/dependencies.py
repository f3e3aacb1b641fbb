"""Explain reasons about dependencies on other jobs."""

from __future__ import annotations

import re

from clusterwright.diagnose.pending.changes import update
from clusterwright.diagnose.pending.facts import Facts, summary
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, StartCommand, Waiting
from clusterwright.i18n import _


@reason("DependencyNeverSatisfied")
def never_satisfied(facts: Facts) -> Waiting:
    """Explain that a dependency can no longer be satisfied, as the other job ended in another state."""
    cause = _(
        "The job depends on `{dependency}`, which can no longer be satisfied.",
        dependency=facts.job["Dependency"],
    )
    return Waiting("dependency-never", cause, _(NOT_BY_ITSELF), _no_dependency(facts))


@reason("Dependency")
def dependency(facts: Facts) -> Waiting:
    """Explain that the job waits until other jobs, which the Waiting lists, have started or ended (`--dependency`)."""
    condition = facts.job["Dependency"]
    ids = set(re.findall(r"\d+", re.sub(r"\(.*?\)", "", condition)))
    other_jobs = tuple(
        f"{summary(job)} ({job.state})" for job in facts.queue if job.id.partition("_")[0] in ids
    )
    cause = (
        _("The job waits until no other job of its user with its name runs (singleton).")
        if "singleton" in condition
        else _("The job waits for other jobs: `{dependency}`.", dependency=condition)
    )
    return Waiting(
        "dependency", cause, _("when these jobs satisfy the dependency"), _no_dependency(facts), other_jobs
    )


def _no_dependency(facts: Facts) -> StartCommand:
    return update(
        facts, "Dependency=", _("remove the dependency if the job does not need the other's result")
    )
