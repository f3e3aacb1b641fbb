"""What the ranks of a job will find in their environment, and from whom; secrets by their names alone. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.names import is_secret
from clusterwright.launch import container, variables
from clusterwright.launch.command import adapter, is_plain
from clusterwright.launch.words import HANDED_ON
from clusterwright.onhost.adapters.place import Place
from clusterwright.provision.render.caches import caches

HIDDEN = "(hidden)"
SECRETS = "~/.config/clusterwright/secrets.env"


@dataclass(frozen=True, slots=True)
class Shown:
    """One variable: its value as far as it may be shown, and who said it."""

    name: str
    value: str
    source: str


def shown(job: Job, cluster: Cluster, shell: Mapping[str, str]) -> tuple[Shown, ...]:
    """Every variable that a job sets, by name; the last one to speak wins, and only it is listed."""
    framework = adapter(job)
    place = Place(
        tuple(f"HOST{number + 1}" for number in range(job.nodes)), 0, job.gpus_per_node, "HOST1", 20000, 0
    )
    told: dict[str, Shown] = {}
    sources: tuple[tuple[str, Mapping[str, str]], ...] = (
        ("launcher, on each host", _launcher(job, cluster)),
        (f"adapter {job.framework}, for rank 0", framework.variables(place)),
        ("cluster file, environments.caches", caches(cluster)),
        ("cluster file, jobs.variables", cluster.jobs.variables),
        ("job, parallel", variables.parallel(job)),
        ("job, gradients", variables.gradients(job)),
        ("job, container", container.variables(job, cluster)),
        ("job, environment.variables", job.environment.variables),
    )
    for source, said in sources:
        own = source.startswith("job, env")
        for name, text in said.items():
            by = "your shell" if own and shell.get(name) == text and name.startswith(HANDED_ON) else source
            told[name] = Shown(name, HIDDEN if is_secret(name) else text, by)
    left = [name for name in shell if name not in told and (name.startswith(HANDED_ON) or is_secret(name))]
    for name in left:
        text = HIDDEN if is_secret(name) else shell[name]
        mend = f"; write it into {SECRETS} there" if is_secret(name) else "; write it into the job"
        told[name] = Shown(name, text, f"your shell: not handed on{mend}")
    return tuple(told[name] for name in sorted(told, key=_order))


def _launcher(job: Job, cluster: Cluster) -> dict[str, str]:
    """What our agent, or plain.py, sets where nobody has said it (agent/host/generation.py)."""
    network = "the interface in " + str((cluster.networks.compute or cluster.networks.management).subnet)
    threads = "$SLURM_CPUS_PER_TASK" if is_plain(job) else "CPUs of the job on the host / ranks"
    return {
        "NCCL_SOCKET_IFNAME": network,
        "GLOO_SOCKET_IFNAME": network,
        "OMP_NUM_THREADS": threads,
        "MASTER_ADDR": "the first host's address in the compute network",
        "MASTER_PORT": "a free port",
    }


def _order(name: str) -> tuple[int, str]:
    first = next((index for index, prefix in enumerate(HANDED_ON) if name.startswith(prefix)), len(HANDED_ON))
    return first, re.sub(r"\W", "", name)
