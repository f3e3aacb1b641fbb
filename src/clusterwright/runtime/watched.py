"""`import clusterwright.runtime.watched`: a script that uses nothing of ours says its steps.

Steps are counted by torch's own hook on optimisers, and written into the run's folder as our loop writes them; nothing
of the training is touched. Of a script with several optimisers the first one's steps count. The loss is not known here.
What is said of communication is rank 0's own: where it waits for a slower rank, that is in it.
Outside `wright train` the run gets a folder beside the others, `NAME-job-NUMBER`, when Slurm has started it.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook

from clusterwright.runtime import slurm
from clusterwright.runtime.events import Events, log_line, process_started
from clusterwright.runtime.exposed import BOUNDED, EXACT, Exposed, clock


def exposed(optimizer: Optimizer) -> Exposed:
    """What measures the communication of this training, after its first step; alone where there is one rank."""
    weights = {id(weight): weight for group in optimizer.param_groups for weight in group["params"]}
    several = dist.is_available() and dist.is_initialized()
    first_weight = next(iter(weights.values()))
    monitor = Exposed(dist.get_world_size() if several else 1, clock(first_weight.device))
    for model in _owners(set(weights)) if several else ():
        monitor.watch(model)
    return monitor


def _owners(weights: set[int]) -> list[nn.Module]:
    """Those in DistributedDataParallel; else the outermost, which says how it is cut."""
    models = [model for model in _models() if _has_weights(model, weights)]
    parallel: list[nn.Module] = [model for model in models if isinstance(model, DistributedDataParallel)]
    return parallel or sorted(models, key=_size)[-1:]


def _has_weights(model: nn.Module, weights: set[int]) -> bool:
    try:
        return any(id(parameter) in weights for parameter in model.parameters())
    except Exception:  # noqa: BLE001 (one run's damaged files are no reason to leave out all others)
        return False


def _size(model: nn.Module) -> int:
    return sum(1 for _ in model.modules())


def _models() -> Iterator[nn.Module]:
    """Asked for their true class: others pretend to have one, and import what it takes."""
    return (candidate for candidate in gc.get_objects() if _is_model(candidate))


def _is_model(candidate: Any) -> bool:
    return issubclass(type(candidate), nn.Module)


SETTINGS = Path("/etc/clusterwright/exporter.json")  # where hosts are told the folder of runs
HEARTBEAT_S = 5.0


class Watched:
    """The steps of this rank; only rank 0 writes them, as everywhere.

    `is_unsupervised` is True where no supervisor tells of the job, so that we do.
    """

    def __init__(self, run: Path, environ: dict[str, str], *, is_unsupervised: bool) -> None:
        self._run, self._is_unsupervised = run, is_unsupervised
        self._rank = int(environ.get("RANK", "0"))
        generation = environ.get("CLUSTERWRIGHT_GENERATION", "0")
        self._log = Events(run, self._rank, _starts(run) + 1 if is_unsupervised else int(generation))
        self._first_optimizer: int | None = None  # the optimiser whose steps count
        self._steps, self._busy_s, self._last_step_time = 0, 0.0, 0.0
        self._beat = float("-inf")
        self._exposed: Exposed | None = None
        if is_unsupervised:
            self._begin(environ)
        self._log.write("process_start", pid=os.getpid(), started=process_started())
        self._log.write("group_ready", world_size=int(environ.get("WORLD_SIZE", "1")))
        self._hook = register_optimizer_step_post_hook(self.stepped)
        atexit.register(self.ended)

    def close(self) -> None:
        """Steps are not told any more."""
        self._hook.remove()
        if self._exposed:
            self._exposed.close()
        atexit.unregister(self.ended)
        self._log.flush()

    def stepped(self, optimizer: Optimizer, _args: Any, _more: Any) -> None:
        """Torch calls it after each step of each optimiser."""
        if self._first_optimizer is None:
            self._first_optimizer = id(optimizer)
        if self._rank or id(optimizer) != self._first_optimizer:
            return
        now = time.monotonic()
        seconds, self._last_step_time = (
            now - self._last_step_time if self._steps else 0.0,
            now,
        )  # nobody saw the first one begin
        self._steps, self._busy_s = self._steps + 1, self._busy_s + seconds
        more = {"step": self._steps, "seconds": seconds, "busy": self._busy_s, "waited": 0.0}
        lr = float(optimizer.param_groups[0]["lr"])
        self._log.soon("step", **more, **self._communicated(optimizer), lr=lr)
        if self._is_unsupervised and now - self._beat >= HEARTBEAT_S:
            self._beat = now
            with suppress(OSError):
                (self._run / "pulse").write_text("{}")

    def _communicated(self, optimizer: Optimizer) -> dict[str, float]:
        """So far; with the first step it is known what can be measured."""
        if self._exposed is None:
            self._exposed = exposed(optimizer)
            basis = self._exposed.known
            self._log.write("communication", known=BOUNDED if basis == EXACT else basis)
        self._exposed.stepped()
        self._exposed.apply_vote(self._exposed.vote_fields(self._busy_s))
        return self._exposed.event_fields()

    def ended(self) -> None:
        """The process leaves, in order or by an exception; a run of our own is then over."""
        if not self._is_unsupervised:
            return
        failed = hasattr(sys, "last_type")  # what the interpreter has just shown, if anything
        outcome, reason = ("failed", "an exception") if failed else ("finished", "the script has ended")
        self._log.write("generation_end", why="ranks-failed" if failed else "finished")
        self._log.write("job_end", outcome=outcome, why=reason)
        document = {"outcome": outcome, "code": int(failed), "why": reason, "time": time.time()}
        with suppress(OSError):
            (self._run / "ended.json").write_text(json.dumps(document))

    def _begin(self, environ: dict[str, str]) -> None:
        """What a supervisor would have written."""
        job = {"name": environ.get("SLURM_JOB_NAME", ""), "account": environ.get("SLURM_JOB_ACCOUNT", "")}
        record = {"run": self._run.name, "submitted": time.time(), "local": False, "job": job}
        with suppress(OSError):  # where the job was put back into the queue, it had ended before
            (self._run / "ended.json").unlink()
        (self._run / "job.json").write_text(json.dumps(record))
        hosts = _hosts(environ)
        ranks = max(1, int(environ.get("WORLD_SIZE", "1")) // len(hosts))
        self._log.write("job_start", job_id=environ.get("SLURM_JOB_ID", ""), hosts=hosts, ranks=ranks)
        self._log.write("generation_start", hosts=hosts, address="", port=0)


def watch(environ: dict[str, str]) -> Watched | None:
    """From now on; None where there is no folder to write into, or where rank 0 writes for us all."""
    run_folder = environ.get("CLUSTERWRIGHT_RUN")
    run = Path(run_folder) if run_folder else _default_run(environ)
    if run is None or (not run_folder and environ.get("RANK", "0") != "0"):
        return None
    try:
        return Watched(run, environ, is_unsupervised=not run_folder)
    except OSError as error:
        log_line(f"steps are not told: {error}")
        return None


def _starts(run: Path) -> int:
    """How often the script has begun in this folder."""
    try:
        with (run / "events" / "rank-00000.jsonl").open(errors="replace") as file:
            return sum('"event": "generation_start"' in line for line in file)
    except OSError:
        return 0


def _default_run(environ: dict[str, str]) -> Path | None:
    """In the folder of runs, one for each job; the same for all its ranks."""
    job = environ.get("SLURM_JOB_ID", "")
    try:
        runs = json.loads(SETTINGS.read_text()).get("runs")
    except (OSError, ValueError, AttributeError):
        runs = None
    if not job.isdigit() or not runs:
        return None
    name = "".join(c for c in environ.get("SLURM_JOB_NAME", "job") if c.isalnum() or c in "._-")
    name = name.lstrip(".")[:40]
    return Path(runs) / f"{name or 'job'}-job-{job}"


def _hosts(environ: dict[str, str]) -> list[str]:
    """As far as a script is told: how many, and which one this is."""
    host = environ.get("SLURMD_NODENAME") or os.uname().nodename
    count = int(environ.get("SLURM_JOB_NUM_NODES", environ.get("SLURM_NNODES", "1")))
    return [host, *(f"host-{number}" for number in range(2, count + 1))]


slurm.adopt(os.environ)
WATCHED = watch(dict(os.environ))
