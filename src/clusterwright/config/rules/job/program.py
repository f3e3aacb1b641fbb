"""A job runs one program."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.job import Job
from clusterwright.config.rules._clash import Clash


def program(job: Job) -> Iterator[Clash]:
    """There is one of a command, a program and a recipe, and arguments are those of a recipe."""
    said = [name for name in ("command", "program", "recipe") if getattr(job, name) is not None]
    if not said:
        message, mend = (
            "the job has neither a command nor a program nor a recipe",
            "add `command: [train.py]`, `program: [./simulate]` or `recipe: gpt`",
        )
        yield Clash("command-or-recipe", message, mend, ((),))
    if len(said) > 1:
        message, mend = f"the job has a {' and a '.join(said)}", "keep one of them"
        yield Clash("command-or-recipe", message, mend, tuple((name,) for name in said))
    if job.arguments and job.recipe is None:
        yield Clash(
            "arguments-without-recipe",
            "arguments are those of a recipe, and the job has none",
            'write them into the command: [train.py, --steps, "300"]',
            (("arguments",),),
        )
