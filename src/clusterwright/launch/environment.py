"""List the environment variables of a job's ranks with their sources; values of secrets are hidden."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.names import is_secret
from clusterwright.i18n import _
from clusterwright.launch import variables
from clusterwright.launch.command import adapter, container_variables, is_plain
from clusterwright.launch.command_line import FORWARDED_PREFIXES
from clusterwright.onhost.adapters.process_context import ProcessContext
from clusterwright.provision.render.caches import caches

HIDDEN = "(hidden)"
SECRETS = "~/.config/clusterwright/secrets.env"


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable: its name, its value (hidden for secrets), and its source in words."""

    name: str
    value: str
    source: str


def list_variables(job: Job, cluster: Cluster, shell: Mapping[str, str]) -> tuple[Variable, ...]:
    """Return every variable that a job sets, each with the source that takes precedence, sorted by name.

    Also those of `shell`, the submitting shell, that are settings of libraries or secrets and are not passed on.
    """
    framework = adapter(job)
    context = ProcessContext(
        tuple(f"HOST{number + 1}" for number in range(job.nodes)), 0, job.gpus_per_node, "HOST1", 20000, 0
    )
    variables_by_name: dict[str, Variable] = {}
    sources: tuple[tuple[str, Mapping[str, str]], ...] = (
        (_("launcher, on each host"), _launcher(job, cluster)),
        (_("adapter {framework}, for rank 0", framework=job.framework), framework.variables(context)),
        (_("lab, whose hosts share CPUs"), variables.lab(cluster)),
        (_("cluster file, {field}", field="environments.caches"), caches(cluster)),
        (_("cluster file, {field}", field="object_storage"), variables.object_storage(cluster)),
        (_("cluster file, {field}", field="jobs.variables"), cluster.jobs.variables),
        (_("job file, {field}", field="parallel"), variables.parallel(job)),
        (_("job file, {field}", field="gradients"), variables.gradients(job)),
        (_("job file, {field}", field="container"), container_variables(job, cluster)),
        (_("job file, {field}", field="environment.variables"), job.environment.variables),
    )
    for source, values in sources:
        is_job_file = values is job.environment.variables
        for name, text in values.items():
            forwarded = is_job_file and shell.get(name) == text and name.startswith(FORWARDED_PREFIXES)
            by = _("your shell") if forwarded else source
            variables_by_name[name] = Variable(name, HIDDEN if is_secret(name) else text, by)
    shell_names = [
        name
        for name in shell
        if name not in variables_by_name and (name.startswith(FORWARDED_PREFIXES) or is_secret(name))
    ]
    for name in shell_names:
        if is_secret(name):
            source = _(
                "set in your shell, not passed on: write the variable into {file} on the cluster",
                file=SECRETS,
            )
        else:
            source = _("set in your shell, not passed on: write the variable into the job file")
        variables_by_name[name] = Variable(name, HIDDEN if is_secret(name) else shell[name], source)
    return tuple(variables_by_name[name] for name in sorted(variables_by_name, key=_order))


def _launcher(job: Job, cluster: Cluster) -> dict[str, str]:
    """Return the variables that the agent (onhost/supervisor/host/generation.py) or the unsupervised launcher sets."""
    subnet = (cluster.networks.compute or cluster.networks.management).subnet
    network = _("the interface in {subnet}", subnet=subnet)
    threads = "$SLURM_CPUS_PER_TASK" if is_plain(job) else _("CPUs of the job on the host / ranks")
    return {
        "NCCL_SOCKET_IFNAME": network,
        "GLOO_SOCKET_IFNAME": network,
        "OMP_NUM_THREADS": threads,
        "MASTER_ADDR": _("the first host's address in the compute network"),
        "MASTER_PORT": _("a free port"),
    }


def _order(name: str) -> tuple[int, str]:
    prefix_index = next(
        (index for index, prefix in enumerate(FORWARDED_PREFIXES) if name.startswith(prefix)),
        len(FORWARDED_PREFIXES),
    )
    return prefix_index, re.sub(r"\W", "", name)
