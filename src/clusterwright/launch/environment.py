"""What the ranks of a job will find in their environment, and from whom; secrets by their names alone. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.names import is_secret
from clusterwright.i18n import _
from clusterwright.launch import container, variables
from clusterwright.launch.command import adapter, is_plain
from clusterwright.launch.command_line import FORWARDED_PREFIXES
from clusterwright.onhost.adapters.process_context import ProcessContext
from clusterwright.provision.render.caches import caches

HIDDEN = "(hidden)"
SECRETS = "~/.config/clusterwright/secrets.env"


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable: its value as far as it may be shown, and who said it."""

    name: str
    value: str
    source: str


def list_variables(job: Job, cluster: Cluster, shell: Mapping[str, str]) -> tuple[Variable, ...]:
    """Every variable that a job sets, by name; the last one to speak wins, and only it is listed."""
    framework = adapter(job)
    context = ProcessContext(
        tuple(f"HOST{number + 1}" for number in range(job.nodes)), 0, job.gpus_per_node, "HOST1", 20000, 0
    )
    variables_by_name: dict[str, Variable] = {}
    sources: tuple[tuple[str, Mapping[str, str]], ...] = (
        ("launcher, on each host", _launcher(job, cluster)),
        (f"adapter {job.framework}, for rank 0", framework.variables(context)),
        ("cluster file, environments.caches", caches(cluster)),
        ("cluster file, jobs.variables", cluster.jobs.variables),
        ("job, parallel", variables.parallel(job)),
        ("job, gradients", variables.gradients(job)),
        ("job, container", container.variables(job, cluster)),
        ("job, environment.variables", job.environment.variables),
    )
    for source, values in sources:
        is_job_file = source.startswith("job, env")
        for name, text in values.items():
            by = (
                "your shell"
                if is_job_file and shell.get(name) == text and name.startswith(FORWARDED_PREFIXES)
                else source
            )
            variables_by_name[name] = Variable(name, HIDDEN if is_secret(name) else text, by)
    shell_names = [
        name
        for name in shell
        if name not in variables_by_name and (name.startswith(FORWARDED_PREFIXES) or is_secret(name))
    ]
    for name in shell_names:
        text = HIDDEN if is_secret(name) else shell[name]
        fix = (
            _("; write it into {secrets} there", secrets=SECRETS)
            if is_secret(name)
            else _("; write it into the job")
        )
        variables_by_name[name] = Variable(name, text, f"your shell: not handed on{fix}")
    return tuple(variables_by_name[name] for name in sorted(variables_by_name, key=_order))


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
    prefix_index = next(
        (index for index, prefix in enumerate(FORWARDED_PREFIXES) if name.startswith(prefix)),
        len(FORWARDED_PREFIXES),
    )
    return prefix_index, re.sub(r"\W", "", name)
