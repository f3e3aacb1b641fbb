"""Each folder of data is staged once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import PurePosixPath

from clusterwright.config.job import Job
from clusterwright.config.rules._clash import Clash


def data(job: Job) -> Iterator[Clash]:
    """No staged folder lies in another one: it would be copied twice."""
    staged = [(index, PurePosixPath(one.path)) for index, one in enumerate(job.data) if one.stage == "local"]
    for (first, one), (second, other) in combinations(staged, 2):
        if one.is_relative_to(other) or other.is_relative_to(one):
            inner = second if other.is_relative_to(one) else first
            yield Clash(
                "data-nested",
                f"{one} and {other} are to be copied to local disk, and one lies in the other",
                "take the inner one out: it comes with the other",
                (("data", inner, "path"), ("data", first if inner == second else second, "path")),
            )
