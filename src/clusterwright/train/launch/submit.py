"""A job handed to Slurm through a Remote: the run's folder, the script in it, and sbatch, in one ssh."""

from __future__ import annotations

import base64
import json
import shlex

from clusterwright.edge import slurm
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.spec.cluster import Cluster
from clusterwright.spec.job import Job
from clusterwright.train.launch.run import Run, run_name
from clusterwright.train.launch.script import script

SUBMIT_LIMIT_S = 60
# the id alone, of `a warning\n123;cluster`
_LAST = """printf '%s\\n' "$id" | tail -n 1 | cut -d ';' -f 1"""


def runs_folder(cluster: Cluster) -> str:
    """Where runs are kept: `runs` in the first shared folder.

    Raises:
        WrightError: the cluster shares no folder.
    """
    if cluster.shared_folder is None:
        raise WrightError.of(
            "folder-not-shared",
            f"cluster `{cluster.name}` has no shared folder, and a run is kept in one",
            "add one under `storage:`, e.g. shared: {kind: nfs, server: control, path: /shared}",
        )
    return f"{cluster.shared_folder}/runs"


def submit(
    job: Job, cluster: Cluster, remote: Remote, *, user: str | None = None, clock: Clock | None = None
) -> Run:
    """The run that Slurm has taken; it belongs to `user`, to the job's user, or to whoever logs in.

    Raises:
        WrightError: the job does not fit, the host does not answer, or Slurm refuses.
    """
    now = (clock or SystemClock()).now()
    runs, name, who = runs_folder(cluster), run_name(job.name, now), user or job.user
    run = f"{runs}/{name}"
    files = {"job.sh": script(job, cluster, run), "job.json": job_record(job, name, now, who)}
    stdin = "".join(base64.b64encode(text.encode()).decode() + "\n" for text in files.values())
    done = remote.run(
        cluster.control.name,
        _command(runs, name, list(files), who),
        stdin=stdin.encode(),
        timeout_s=SUBMIT_LIMIT_S,
    )
    return Run(name, slurm.submitted(done, cluster.control.name, who), run)


def resume(name: str, cluster: Cluster, remote: Remote, *, user: str | None = None) -> Run:
    """A run that ended goes on from its newest checkpoint, with its own script and a fresh count of successors.

    Raises:
        WrightError: no such run, the host does not answer, or Slurm refuses.
    """
    run = f"{runs_folder(cluster)}/{name}"
    command = _again(run)
    done = remote.run(cluster.control.name, slurm.as_user(command, user), timeout_s=SUBMIT_LIMIT_S)
    return Run(name, slurm.submitted(done, cluster.control.name, user), run)


def job_record(job: Job, name: str, now: float, user: str | None, *, local: bool = False) -> str:
    """What job.json holds: the job as it was read, who submitted it, when."""
    return json.dumps(
        {"run": name, "user": user, "submitted": now, "local": local, "job": job.model_dump(mode="json")}, indent=2
    )  # fmt: skip


def _command(runs: str, name: str, files: list[str], user: str | None) -> str:
    """Make the folder, fill it from stdin, submit; a refused job leaves no folder behind."""
    run = shlex.quote(f"{runs}/{name}")
    fill = "".join(f'IFS= read -r text && printf %s "$text" | base64 -d > {file} && ' for file in files)
    steps = (
        f"umask 022; mkdir -p {shlex.quote(runs)} && mkdir {run} && cd {run} && mkdir events logs checkpoints && "
        f"{fill}id=$(sbatch --parsable job.sh) && {_LAST} | tee jobs "
        f"|| {{ code=$?; cd / && rm -rf {run}; exit $code; }}"
    )
    # Everybody's runs lie side by side, and each belongs to its user: as in /tmp (mode 1777).
    shared = f'[ "$(id -u)" != 0 ] || [ -d {shlex.quote(runs)} ] || install -d -m 1777 {shlex.quote(runs)}; '
    return shared + slurm.as_user(steps, user)


def _again(run: str) -> str:
    return (
        f"cd {shlex.quote(run)} && rm -rf chain stop cancelled ended.json standby.json && "
        f"id=$(sbatch --parsable job.sh) && {_LAST} | tee -a jobs"
    )
