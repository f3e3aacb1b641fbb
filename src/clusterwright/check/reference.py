"""The reference page of all checks, made from the checks themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clusterwright.check.expectation import Check
from clusterwright.check.fact import Fact
from clusterwright.check.registry import all_checks

_HEAD = """# Checks

`wright check cluster.yaml` asks every host once over SSH, and says where it is not as the file wants.
A check is `ok`, `warn`, `fail`, `unknown` or `skipped`; only `ok` is green.
`unknown`: it could not be seen, because a tool is missing, failed or overran its limit.
`skipped`: it is switched off, or not to be had there.
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
    yield f"- Occasions: {', '.join(each.on)}."
    yield f"- Mend: {each.mend}."


def _limit(needed: Fact[Any]) -> str:
    if not needed.probe and needed.id == "reached":
        return "Known without asking."
    where = "on the control host, in a second round" if needed.after else "on the host"
    return f"Read {where}, within {needed.limit_s:g} s."
