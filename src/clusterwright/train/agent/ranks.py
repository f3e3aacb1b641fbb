"""The ranks of one host: started by a torchrun that is warm where possible, and ended without a trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Mapping, Optional, Sequence

from clusterwright.train.agent import processes, torchrun

KILL_S = 3.0  # shorter than the shortest sensible silence, since no beat is sent meanwhile
REFILL_S = 20.0  # the next torchrun is warmed when the ranks have their own imports behind them

_WARM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "warm.py")


class Ranks:
    """What runs on this host for the job; at most one torchrun with its ranks, and one that waits."""

    def __init__(self, log: str) -> None:
        self._log = log
        self._torchrun: Optional[subprocess.Popen[bytes]] = None
        self._warm: Optional[subprocess.Popen[bytes]] = None
        self._refill_at = time.monotonic()

    def start(self, arguments: Sequence[str], env: Mapping[str, str], log: str, cwd: str) -> None:
        """Begin, in place of whatever was there."""
        warm, self._warm = self._warm, None
        if not self._hand_to(warm, {"arguments": list(arguments), "env": dict(env), "log": log, "cwd": cwd}):
            argv = [sys.executable, "-m", "torch.distributed.run", *arguments]
            warm = processes.start(argv, env, log, cwd=cwd)
        self._torchrun = warm
        self._refill_at = time.monotonic() + REFILL_S

    def exit_code(self) -> Optional[int]:
        """How torchrun ended, once; None while it runs, and when there is none."""
        if self._torchrun is None or self._torchrun.poll() is None:
            return None
        code, self._torchrun = self._torchrun.returncode, None
        return code

    def end(self) -> bool:
        """No rank is left on this host, nor what ranks started; False when something cannot die."""
        self._torchrun = None
        return processes.end_descendants(KILL_S, keep=self._warm.pid if self._warm else 0)

    def keep_warm(self) -> None:
        """See to it that a torchrun waits."""
        if self._warm is None and time.monotonic() >= self._refill_at:
            env = {**torchrun.QUIET, **os.environ}
            self._warm = processes.start([sys.executable, _WARM], env, self._log, orders=True)

    @staticmethod
    def _hand_to(warm: Optional[subprocess.Popen[bytes]], orders: Mapping[str, object]) -> bool:
        if warm is None or warm.poll() is not None or warm.stdin is None:
            return False
        try:
            warm.stdin.write(json.dumps(orders).encode() + b"\n")
            warm.stdin.close()
        except OSError:
            return False
        return True
