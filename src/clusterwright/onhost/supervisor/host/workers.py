"""What a rank forks by multiprocessing, a DataLoader's workers above all, dies with the rank.

When an agent is killed, the kernel kills its ranks; their workers would look for them every five seconds only, and
hold memory, files and ports of the store until then.
"""

from __future__ import annotations

import os
import threading
from multiprocessing import util

from clusterwright.onhost.supervisor.host import processes


class _Binding:
    """Who forks; kept for as long as the process lives."""

    def __init__(self) -> None:
        self.parent = 0
        os.register_at_fork(before=self.note)
        util.register_after_fork(self, _Binding.bind)

    def note(self) -> None:
        """The kernel looks at the thread that forked: one that ends before its process would take the workers along."""
        self.parent = os.getpid() if threading.current_thread() is threading.main_thread() else 0

    def bind(self) -> None:
        """In the new process, and only where multiprocessing made it: what else a program forks is its own affair."""
        if self.parent:
            processes.die_with(self.parent)


_bindings: list[_Binding] = []


def bind() -> None:
    """From now on, in this process and in what it forks; once is enough."""
    if not _bindings:
        _bindings.append(_Binding())
