"""Write tuned settings into a file's text; pure.

A setting with a dot in its name is a field of the job file; any other is an environment variable.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff

from clusterwright.check.tune.knobs import KnobSettings
from clusterwright.provision.change.edit import set_value

OF_CLUSTER, OF_JOB = ("jobs", "variables"), ("environment", "variables")


def with_settings(text: str, settings: KnobSettings, variables: Iterable[str] = OF_CLUSTER) -> str:
    """Set each setting at its place in the text, in place of an older value; all other text stays unchanged.

    A name with dots is a path of the file, another one a variable below the path `variables`.
    """
    for name, value in settings.pairs:
        key_path = tuple(name.split(".")) if "." in name else (*variables, name)
        text = set_value(text, key_path, value)
    return text


def difference(original: str, updated: str, name: str) -> str:
    """Return the change of a text as a unified diff for file `name`, which `patch` applies and `patch -R` reverts.

    Empty if the texts are equal.
    """
    lines = unified_diff(original.splitlines(keepends=True), updated.splitlines(keepends=True), name, name)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
