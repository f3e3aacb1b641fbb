"""The reference page of all checks, made from the checks themselves."""

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
    """Each number as it is written, with its comment; a number without one is no threshold."""
    comments = _comments(source)
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.BinOp)):
            said = _beside(node, comments) or _above(node.lineno, comments, source.splitlines())
            if said and _is_number(node.value):
                yield ast.get_source_segment(source, node.value) or "", said


def _is_number(node: ast.expr) -> bool:
    """A number, or several with units: `20 * GB`."""
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) or _is_number(node.right)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}


def _beside(node: ast.Assign, comments: dict[int, str]) -> str:
    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return " ".join(comments[line] for line in lines if line in comments)


def _above(line: int, comments: dict[int, str], text: list[str]) -> str:
    """The block of whole lines that ends right before."""
    first = line
    while first > 1 and text[first - 2].startswith("#"):
        first -= 1
    return " ".join(comments[each] for each in range(first, line))


_HEAD = """# Checks

`wright check cluster.yaml` asks every host once over SSH, and says where it is not as the file wants.
A check is `ok`, `warn`, `fail`, `unknown` or `skipped`; only `ok` is green.
`unknown`: it could not be seen, because a tool is missing, failed or overran its limit.
`skipped`: it is switched off, or not to be had there.
`--on OCCASION` runs the checks of one occasion: `deploy` all of them, `periodic` those of a running cluster,
`prolog` those that take no time before a job and never ask slurmctld, `burn-in` those that say something after load,
`boot` those of a host that has just been booted (`wright apply --reboot` asks them before it gives a host back).
Exit code 5: something failed. Exit code 1: nothing failed, but something is unknown. Exit code 0: all else.

| check | what holds when it is ok |
| --- | --- |
"""


def reference() -> str:
    """The whole page, as Markdown."""
    checks = all_checks()
    table = "".join(f"| [{each.id}](#{each.id}) | {each.about} |\n" for each in checks)
    return _HEAD + table + "".join("\n" + "\n".join(_section(each)) + "\n" for each in checks)


def _section(each: Check) -> Iterator[str]:
    yield f"## {each.id}\n"
    yield f"{each.about}\n"
    yield f"- Looks at: {'the hosts together' if each.together else 'each host by itself'}."
    for needed in each.needs:
        yield f"- Fact `{needed.id}`: {needed.about} {_limit(needed)}"
    yield from _thresholds(each)
    if each.field:
        yield f"- Where all hosts of a group fail alike, `{each.field}` of the cluster file may be wrong: it says so."
    yield f"- Occasions: {', '.join(each.on)}."
    yield f"- Fix: {each.mend}."


def _limit(needed: Fact[Any]) -> str:
    if not needed.probe and needed.id == "reached":
        return "Known without asking."
    where = "on the control host, in a second round" if needed.after else "on the host"
    return f"Read {where}, within {needed.limit_s:g} s."


def _thresholds(each: Check) -> Iterator[str]:
    """What it decides by: its file's own numbers, and the rows of its table where it has one."""
    module = sys.modules[each.judge.__module__]
    for number, source in thresholds(inspect.getsource(module)):
        yield f"- Threshold {number}: {source.rstrip('.')}."
    for rule in getattr(module, "RULES", ()):
        yield f"- Threshold more than {rule.most:.3g} a second of `{rule.counter}`: {rule.source}."
