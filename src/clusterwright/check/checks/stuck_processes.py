"""No process hangs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.stuck import Stuck, stuck
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_ZOMBIES = 20  # ours: a parent that forgets many of its children will run out of process numbers
_MAX_NAMES = 3
_EXPECTED = f"none stuck in the kernel for 10 s, {_ZOMBIES} zombies at most"


@check(
    stuck,
    fix="`cat /proc/PID/stack` says in what it waits: mostly a file server, a disk or the GPU's driver",
)
def stuck_processes(_spec: HostSpec, have: Stuck) -> Iterator[Verdict]:
    """No process waits in the kernel beyond any signal, and few zombies are left over."""
    if have.waiting:
        yield fault(observed=f"stuck: {_names(have.waiting)}", expected=_EXPECTED, otherwise=Status.WARN)
    if len(have.zombies) > _ZOMBIES:
        fix = _("`ps -eo ppid,stat | grep Z` names the parent that forgot them: restart it")
        observed = _("{count} zombies: {names}", count=len(have.zombies), names=_names(have.zombies))
        yield fault(observed=observed, expected=_EXPECTED, otherwise=Status.WARN, fix=fix)
    if not have.waiting and len(have.zombies) <= _ZOMBIES:
        yield fine(observed=_("every process moves"), expected=_EXPECTED)


def _names(processes: Sequence[tuple[int, str]]) -> str:
    labels = [f"{name} ({pid})" for pid, name in processes[:_MAX_NAMES]]
    return ", ".join([*labels, *(["..."] if len(processes) > _MAX_NAMES else [])])
