"""Name the environment variable that chose a cluster file in the findings about that file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from clusterwright.cli._connection import VARIABLE
from clusterwright.errors import Finding
from clusterwright.i18n import _


def name_variable(finding: Finding, tokens: Sequence[str]) -> Finding:
    """Return a finding about the file of the variable with the variable in its fix; `tokens`: the command line."""
    path = os.environ.get(VARIABLE)
    is_typed = any(token.partition("=")[0] == "--cluster" or token == path for token in tokens)
    if not path or is_typed or all(place.file != path for place in finding.places):
        return finding
    fix = _("{fix} (${variable} names {path})", fix=finding.fix, variable=VARIABLE, path=path)
    return replace(finding, fix=fix)
