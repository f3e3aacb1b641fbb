"""Sets the variables of torchrun for ranks that `srun` starts, one task each."""

from __future__ import annotations

import contextlib
import hmac
import os
import pwd
import re
from collections.abc import MutableMapping
from pathlib import Path

from clusterwright.onhost.lib.ports import RUN_PORTS

_KEYS = Path("/etc/ssh/cluster_keys.d")  # of provision/render/ssh_config: a file of each user, with mode 0600


def first_host(nodelist: str) -> str:
    """Return the first host of a Slurm node list: gpu-node03 of `gpu-node[03-05,9],x1`; empty for an empty list."""
    group = re.match(r"(?:[^,\[]|\[[^\]]*\])+", nodelist)
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", group[0]) if group else ""


def adopt(environ: MutableMapping[str, str]) -> None:
    """Set RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT from a job step; variables already set stay.

    Nothing changes if RANK is set, or outside a step of several tasks. A batch script has SLURM_PROCID too without
    being one of several ranks: only a step has SLURM_STEP_NUM_TASKS.
    """
    if "RANK" in environ or int(environ.get("SLURM_STEP_NUM_TASKS", "1")) == 1:
        return
    environ.setdefault("RANK", environ["SLURM_PROCID"])
    environ.setdefault("LOCAL_RANK", environ["SLURM_LOCALID"])
    environ.setdefault("WORLD_SIZE", environ["SLURM_STEP_NUM_TASKS"])
    environ.setdefault("MASTER_ADDR", first_host(environ["SLURM_STEP_NODELIST"]))
    environ.setdefault("MASTER_PORT", str(_port(environ)))


def _port(environ: MutableMapping[str, str]) -> int:
    """Return the rendezvous port, the same for all tasks of a Slurm step, which other users cannot predict.

    Tasks of a step share no secret; a user's cluster key is the same on all hosts. Without it (a user who is not in
    the cluster file, a container) the port follows from the numbers of job and step alone.
    """
    numbers = [environ.get(f"SLURM_{name}", "0") for name in ("JOB_ID", "STEP_ID", "RESTART_COUNT")]
    key = b""
    with contextlib.suppress(OSError, KeyError):
        key = (_KEYS / pwd.getpwuid(os.getuid()).pw_name).read_bytes()
    digest = hmac.new(key, ".".join(numbers).encode(), "sha256").digest()
    first_port, last = RUN_PORTS
    return first_port + int.from_bytes(digest[:8], "big") % (last - first_port + 1)
