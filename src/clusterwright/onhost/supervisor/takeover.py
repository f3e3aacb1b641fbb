"""A supervisor that goes on inside a job whose batch step is gone: `python -m ...agent.takeover`, orders on stdin.

It is the child of the agent that claimed its number (succession.py). The other agents find it by the pulse.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any, Dict, Mapping

from clusterwright.onhost.supervisor import beside
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.options import Options
from clusterwright.onhost.supervisor.room import Inherited
from clusterwright.onhost.supervisor.standing import Before
from clusterwright.onhost.supervisor.supervisor import Supervisor

LISTS = ("command", "imports", "trackers")  # JSON has no tuples


def options_of(orders: Mapping[str, Any]) -> Options:
    """The job as the supervisor before us knew it."""
    names = Options.__dataclass_fields__
    known: Dict[str, Any] = {name: value for name, value in orders.items() if name in names}
    return Options(**{**known, **{name: tuple(known[name]) for name in LISTS}})


def main() -> int:
    """Keep the run alive from here on; the exit code is read by nobody."""
    orders = json.loads(sys.stdin.readline())
    options = options_of(orders)
    folder = Folder(options.run)
    before = Before(orders["number"], orders["lost"], orders["silence_s"], orders["end_time"])
    supervisor = Supervisor(options, folder, Inherited(options, folder, tuple(orders["hosts"])), before)
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: supervisor.wishes.on_signal(received))
    with beside.trackers(options.trackers, folder):
        return supervisor.run()


if __name__ == "__main__":
    sys.exit(main())
