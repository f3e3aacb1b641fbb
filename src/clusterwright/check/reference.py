"""The reference page of all checks (docs/reference/checks.md), generated from the code of the checks."""

from __future__ import annotations

import ast
import inspect
import io
import sys
import tokenize
from collections.abc import Iterator
from typing import Any

from clusterwright.check.expectation import Check
from clusterwright.check.fact import Fact
from clusterwright.check.registry import all_checks


def thresholds(source: str) -> Iterator[tuple[str, str]]:
    """Yield each module-level number of a source with its comment; a number without a comment is not a threshold."""
    comments = _comments(source)
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.BinOp)):
            comment = _inline_comment(node, comments) or _above(node.lineno, comments, source.splitlines())
            if comment and _is_number(node.value):
                yield ast.get_source_segment(source, node.value) or "", comment


def _is_number(node: ast.expr) -> bool:
    """True for a number, or a product with a unit: `20 * GB`."""
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) or _is_number(node.right)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}


def _inline_comment(node: ast.Assign, comments: dict[int, str]) -> str:
    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return " ".join(comments[line] for line in lines if line in comments)


def _above(line: int, comments: dict[int, str], text: list[str]) -> str:
    """Return the comment lines directly above a line."""
    start = line
    while start > 1 and text[start - 2].startswith("#"):
        start -= 1
    return " ".join(comments[line_number] for line_number in range(start, line))


_HEAD = """# Checks

`wright check` reads facts of every host over one SSH connection each, and reports where a host differs
from the cluster file. A check is `ok`, `warn`, `fail`, `unknown` or `skipped`; only `ok` is green.
`unknown`: a value could not be read, because a tool is missing, failed or exceeded its time limit.
`skipped`: the feature is switched off, or the host does not have it.
`--on OCCASION` runs the checks of one occasion: `deploy` all of them, `periodic` those for a running cluster,
`prolog` those that are fast enough before a job and never query slurmctld, `burn-in` those that are meaningful after
load, `boot` those for a host after a reboot (`wright apply --reboot` runs them before it resumes a node).
Exit code 5: a check failed. Exit code 1: none failed, but one is unknown. Exit code 0: otherwise.

| check | what is true when it is ok |
| --- | --- |
"""


def reference() -> str:
    """Return the page docs/reference/checks.md, which describes all checks, as Markdown."""
    checks = all_checks()
    table = "".join(f"| [{check.id}](#{check.id}) | {check.about} |\n" for check in checks)
    return _HEAD + table + "".join("\n" + "\n".join(_section(check)) + "\n" for check in checks)


def _section(check: Check) -> Iterator[str]:
    yield f"## {check.id}\n"
    yield f"{check.about}\n"
    yield f"- Judges: {'all hosts together' if check.cluster_wide else 'each host alone'}."
    for needed in check.needs:
        yield f"- Fact `{needed.id}`: {needed.about} {_limit(needed)}"
    yield from _thresholds(check)
    if check.field:
        yield f"- Where all hosts of a group fail alike, the fix names `{check.field}` of the cluster file."
    yield f"- Occasions: {', '.join(check.on)}."
    yield f"- Fix: {check.fix}."


def _limit(needed: Fact[Any]) -> str:
    if not needed.probe and needed.id == "reached":
        return "Known from the SSH connection itself."
    scope = "on the control host, in a second round" if needed.depends_on else "on the host"
    return f"Read {scope}, within {needed.limit_s:g} s."


def _thresholds(check: Check) -> Iterator[str]:
    """Yield a line for each threshold of the check: numbers of its module, and rows of its RULES."""
    module = sys.modules[check.judge.__module__]
    for number, source in thresholds(inspect.getsource(module)):
        yield f"- Threshold {number}: {source.rstrip('.')}."
    for rule in getattr(module, "RULES", ()):
        yield f"- Threshold more than {rule.most:.3g} per second of `{rule.counter}`: {rule.source}."
