"""No process hangs in the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.stuck import Stuck, stuck
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_ZOMBIES = 20  # ours: a parent that does not reap its children exhausts the process ids
_MAX_NAMES = 3
_EXPECTED = N_("no process in state D for 10 s, at most 20 zombies")


@check(
    stuck,
    fix="read `cat /proc/PID/stack` to find what the process waits for: mostly a file server, a disk or the GPU driver",
    in_jobs=True,
)
def stuck_processes(_spec: HostSpec, have: Stuck) -> Iterator[Verdict]:
    """No process is stuck in uninterruptible sleep (state D), and there are few zombies.

    One in state D for 10 s is a warning, and so are more than 20 zombies.
    """
    if have.waiting:
        yield fault(
            observed=_("processes in state D for 10 s: {processes}", processes=_names(have.waiting)),
            expected=_(_EXPECTED),
            otherwise=Status.WARN,
        )
    if len(have.zombies) > _ZOMBIES:
        fix = _("find the parent process with `ps -eo ppid,stat | grep Z` and restart it")
        observed = _("{count} zombies: {processes}", count=len(have.zombies), processes=_names(have.zombies))
        yield fault(observed=observed, expected=_(_EXPECTED), otherwise=Status.WARN, fix=fix)
    if not have.waiting and len(have.zombies) <= _ZOMBIES:
        yield fine(observed=_("no hung process"), expected=_(_EXPECTED))


def _names(processes: Sequence[tuple[int, str]]) -> str:
    labels = [f"{name} ({pid})" for pid, name in processes[:_MAX_NAMES]]
    return ", ".join([*labels, *(["..."] if len(processes) > _MAX_NAMES else [])])
