"""Arguments of a recipe."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.job import Job
from clusterwright.config.recipes import Value, arguments_of
from clusterwright.config.rules._clash import Clash
from clusterwright.errors import did_you_mean

_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def arguments(job: Job) -> Iterator[Clash]:
    """The recipe knows each, those of a sweep as well, and takes its values."""
    if job.recipe is None:
        return
    known = arguments_of(job.recipe)
    said = [(name, (("arguments", name), (value,))) for name, value in job.arguments.items()]
    swept = [(name, (("sweep", name), values)) for name, values in job.sweep.items()]
    for name, (at, values) in (*said, *swept):
        usual = known.get(name.replace("-", "_"))
        if usual is None:
            yield _unknown(job.recipe, name, at, known)
        elif wrong := [value for value in values if not _takes(type(usual), value)]:
            yield Clash(
                "recipe-argument",
                f"{name} of recipe {job.recipe} is {_KINDS[type(usual)]}, not `{wrong[0]}`",
                f"where nothing is said it is {str(usual).lower()}"
                if usual != ""
                else f'write {name}: "..."',
                (at,),
            )


def _unknown(recipe: str, name: str, at: tuple[str, str], known: dict[str, Value]) -> Clash:
    meant = did_you_mean(name.replace("-", "_"), known)
    mend = f"did you mean `{meant}`?" if meant else f"it has {', '.join(known)}"
    return Clash("recipe-argument", f"recipe {recipe} has no argument `{name}`", mend, (at,))


def _takes(kind: type[Value], value: Value) -> bool:
    """As the command line would: a number may be written as a text."""
    if kind is bool or isinstance(value, bool):
        return kind is type(value)
    try:
        kind(str(value))
    except ValueError:
        return False
    return True
