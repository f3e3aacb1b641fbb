"""Experiment trackers, processes beside the supervisor: started with it, ended after the run has ended."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Dict, Iterator, List, Sequence

from clusterwright.onhost.lib.processes import Process, TimeoutExpired
from clusterwright.onhost.lib.run_module import module_arguments
from clusterwright.onhost.supervisor import console
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.host import processes
from clusterwright.onhost.supervisor.host.private import secrets_of_user

PROGRAM = "clusterwright.onhost.trackers.follower"
LAST_S = 30.0  # to send the last events; a tracker gives up earlier


@contextlib.contextmanager
def trackers(names: Sequence[str], folder: Folder) -> Iterator[None]:
    """Run a process for each experiment tracker during a `with` block, which follows the run; then end and await them.

    Only they get the user's secrets.
    """
    running = [_start(name, folder) for name in names]
    try:
        yield
    finally:
        for process in running:
            process.terminate()
        _wait(running)


def _start(name: str, folder: Folder) -> Process:
    env = {**os.environ, **_secrets()}
    argv = [sys.executable, *module_arguments(PROGRAM, folder.path, name)]
    return processes.start(argv, env, folder.path_to("logs", "trackers.log"))


def _secrets() -> Dict[str, str]:
    try:
        return dict(secrets_of_user())
    except OSError as error:
        console.error(f"trackers start without the user's secrets: {error}")
        return {}


def _wait(running: List[Process]) -> None:
    deadline = time.monotonic() + LAST_S
    for process in running:
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except TimeoutExpired:
            process.kill()
            process.wait()
