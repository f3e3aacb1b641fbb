"""`import clusterwright.runtime.watched` records the steps of a script that does not use the runtime.

A global torch hook on optimizer steps counts them, and they are written to the run's folder as events; the training
is not changed. With several optimizers only the first one's steps count. The loss is not recorded.
Communication time is rank 0's own and includes its waiting for slower ranks.
Outside `wright train`, a Slurm job gets a folder `NAME-job-NUMBER` of its own in the folder of runs.
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
    """Return a monitor of the exposed communication of an optimizer's models; call it after the first step."""
    weights = {id(weight): weight for group in optimizer.param_groups for weight in group["params"]}
    several = dist.is_available() and dist.is_initialized()
    first_weight = next(iter(weights.values()))
    monitor = Exposed(dist.get_world_size() if several else 1, clock(first_weight.device))
    for model in _owners(set(weights)) if several else ():
        monitor.watch(model)
    return monitor


def _owners(weights: set[int]) -> list[nn.Module]:
    """Return the DistributedDataParallel models that hold these weights, else the outermost model that does."""
    models = [model for model in _models() if _has_weights(model, weights)]
    parallel: list[nn.Module] = [model for model in models if isinstance(model, DistributedDataParallel)]
    return parallel or sorted(models, key=_size)[-1:]


def _has_weights(model: nn.Module, weights: set[int]) -> bool:
    try:
        return any(id(parameter) in weights for parameter in model.parameters())
    except Exception:  # noqa: BLE001 (any object of the script may be half initialized or raise what it likes)
        return False


def _size(model: nn.Module) -> int:
    return sum(1 for _ in model.modules())


def _models() -> Iterator[nn.Module]:
    """Yield all live torch modules, by `type()`: isinstance() makes lazy proxy objects import their target."""
    return (candidate for candidate in gc.get_objects() if _is_model(candidate))


def _is_model(candidate: Any) -> bool:
    return issubclass(type(candidate), nn.Module)


SETTINGS = Path("/etc/clusterwright/exporter.json")  # names the folder of runs on each host
HEARTBEAT_S = 5.0


class Watched:
    """Writes the steps of this rank as events; only rank 0 writes them.

    `is_unsupervised` is True if no supervisor writes the job's events, so that this class writes them too.
    """

    def __init__(self, run: Path, environ: dict[str, str], *, is_unsupervised: bool) -> None:
        self._run, self._is_unsupervised = run, is_unsupervised
        self._rank = int(environ.get("RANK", "0"))
        generation = environ.get("CLUSTERWRIGHT_GENERATION", "0")
        self._log = Events(run, self._rank, _starts(run) + 1 if is_unsupervised else int(generation))
        self._first_optimizer: int | None = None  # the optimizer whose steps count
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
        """Remove the optimizer hook and the model's hooks, and write the buffered events."""
        self._hook.remove()
        if self._exposed:
            self._exposed.close()
        atexit.unregister(self.ended)
        self._log.flush()

    def stepped(self, optimizer: Optimizer, _args: Any, _more: Any) -> None:
        """Write a step event; torch calls this hook after each step of each optimizer.

        Only rank 0 writes, for the first optimizer that stepped; for an unsupervised run also a heartbeat every 5 s.
        """
        if self._first_optimizer is None:
            self._first_optimizer = id(optimizer)
        if self._rank or id(optimizer) != self._first_optimizer:
            return
        now = time.monotonic()
        seconds, self._last_step_time = (
            now - self._last_step_time if self._steps else 0.0,
            now,
        )  # the start of the first step is unknown
        self._steps, self._busy_s = self._steps + 1, self._busy_s + seconds
        more = {"step": self._steps, "seconds": seconds, "busy": self._busy_s, "waited": 0.0}
        lr = float(optimizer.param_groups[0]["lr"])
        self._log.soon("step", **more, **self._communicated(optimizer), lr=lr)
        if self._is_unsupervised and now - self._beat >= HEARTBEAT_S:
            self._beat = now
            with suppress(OSError):
                (self._run / "pulse").write_text("{}")

    def _communicated(self, optimizer: Optimizer) -> dict[str, float]:
        """Return the communication fields of a step event; the first step also writes what can be measured."""
        if self._exposed is None:
            self._exposed = exposed(optimizer)
            basis = self._exposed.status
            self._log.write("communication", status=BOUNDED if basis == EXACT else basis)
        self._exposed.stepped()
        self._exposed.apply_vote(self._exposed.vote_fields(self._busy_s))
        return self._exposed.event_fields()

    def ended(self) -> None:
        """At the exit of this process, write the end and outcome of an unsupervised run.

        No effect on others. It has failed if an exception ends the script.
        """
        if not self._is_unsupervised:
            return
        failed = hasattr(sys, "last_type")  # set by the interpreter when it printed a traceback
        outcome, reason = (
            ("failed", "the script raised an exception") if failed else ("finished", "the script ended")
        )
        self._log.write("generation_end", reason="ranks-failed" if failed else "finished")
        self._log.write("job_end", outcome=outcome, reason=reason)
        document = {"outcome": outcome, "code": int(failed), "reason": reason, "time": time.time()}
        with suppress(OSError):
            (self._run / "ended.json").write_text(json.dumps(document))

    def _begin(self, environ: dict[str, str]) -> None:
        """Write the run's record and first events, as a supervisor would have done; remove an old `ended.json`."""
        job = {"name": environ.get("SLURM_JOB_NAME", ""), "account": environ.get("SLURM_JOB_ACCOUNT", "")}
        record = {"run": self._run.name, "submitted": time.time(), "local": False, "job": job}
        with suppress(OSError):  # left by an earlier start of a requeued job
            (self._run / "ended.json").unlink()
        (self._run / "job.json").write_text(json.dumps(record))
        hosts = _hosts(environ)
        ranks = max(1, int(environ.get("WORLD_SIZE", "1")) // len(hosts))
        self._log.write("job_start", job_id=environ.get("SLURM_JOB_ID", ""), hosts=hosts, ranks=ranks)
        self._log.write("generation_start", hosts=hosts, address="", port=0)


def watch(environ: dict[str, str]) -> Watched | None:
    """Start to record this rank's steps as events; return the recorder.

    None if there is no folder to write to, or if another rank writes for an unsupervised job. The folder is the
    launcher's, else a new one in the folder of runs. One that cannot be written to is logged and gives None.
    """
    run_folder = environ.get("CLUSTERWRIGHT_RUN")
    run = Path(run_folder) if run_folder else _default_run(environ)
    if run is None or (not run_folder and environ.get("RANK", "0") != "0"):
        return None
    try:
        if not run_folder:
            run.mkdir(mode=0o750, parents=True, exist_ok=True)  # as `share: team` without a team
        return Watched(run, environ, is_unsupervised=not run_folder)
    except OSError as error:
        log_line(f"cannot record steps: {error}")
        return None


def _starts(run: Path) -> int:
    """Return how many starts of the script the events in a run's folder record; 0 without events."""
    try:
        with (run / "events" / "rank-00000.jsonl").open(errors="replace") as file:
            return sum('"event": "generation_start"' in line for line in file)
    except OSError:
        return 0


def _default_run(environ: dict[str, str]) -> Path | None:
    """Return the folder of an unsupervised Slurm job in the folder of runs; None outside Slurm or without settings."""
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
    """Return a name for each host of the job: this host's own, then placeholders, as the environment has no others."""
    host = environ.get("SLURMD_NODENAME") or os.uname().nodename
    count = int(environ.get("SLURM_JOB_NUM_NODES", environ.get("SLURM_NNODES", "1")))
    return [host, *(f"host-{number}" for number in range(2, count + 1))]


slurm.adopt(os.environ)
WATCHED = watch(dict(os.environ))
