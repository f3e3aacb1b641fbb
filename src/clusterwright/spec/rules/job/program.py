"""A job runs one program."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.spec.job import Job
from clusterwright.spec.rules._clash import Clash


def program(job: Job) -> Iterator[Clash]:
    """There is a command or a recipe, and arguments are those of a recipe."""
    if job.command is None and job.recipe is None:
        message, mend = (
            "the job has neither a command nor a recipe",
            "add `command: [train.py]` or `recipe: gpt`",
        )
        yield Clash("command-or-recipe", message, mend, ((),))
    if job.command is not None and job.recipe is not None:
        message, mend = "the job has a command and a recipe", "keep one of them"
        yield Clash("command-or-recipe", message, mend, (("command",), ("recipe",)))
    if job.arguments and job.recipe is None:
        yield Clash(
            "arguments-without-recipe",
            "arguments are those of a recipe, and the job has none",
            'write them into the command: [train.py, --steps, "300"]',
            (("arguments",),),
        )
