"""No process hangs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import Want
from clusterwright.check.facts.stuck import Stuck, stuck
from clusterwright.check.verdict import Status, Verdict

_ZOMBIES = 20  # ours: a parent that forgets many of its children will run out of process numbers
_SHOWN = 3
_WANT = f"none stuck in the kernel for 10 s, {_ZOMBIES} zombies at most"


@check(
    stuck,
    mend="`cat /proc/PID/stack` says in what it waits: mostly a file server, a disk or the GPU's driver",
)
def processes_move(_want: Want, have: Stuck) -> Iterator[Verdict]:
    """No process waits in the kernel beyond any signal, and few zombies are left over."""
    if have.waiting:
        yield fault(saw=f"stuck: {_names(have.waiting)}", want=_WANT, otherwise=Status.WARN)
    if len(have.zombies) > _ZOMBIES:
        mend = "`ps -eo ppid,stat | grep Z` names the parent that forgot them: restart it"
        saw = f"{len(have.zombies)} zombies: {_names(have.zombies)}"
        yield fault(saw=saw, want=_WANT, otherwise=Status.WARN, mend=mend)
    if not have.waiting and len(have.zombies) <= _ZOMBIES:
        yield fine(saw="every process moves", want=_WANT)


def _names(found: Sequence[tuple[int, str]]) -> str:
    told = [f"{name} ({pid})" for pid, name in found[:_SHOWN]]
    return ", ".join([*told, *(["..."] if len(found) > _SHOWN else [])])
