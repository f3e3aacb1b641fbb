"""The command of a training, its container, and its Launch record for the supervisor in job.json."""

from __future__ import annotations

import shlex

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.launch.share import share
from clusterwright.onhost.adapters import registry
from clusterwright.onhost.adapters.adapter import Adapter
from clusterwright.onhost.lib.run_module import FILE
from clusterwright.onhost.supervisor.job import Launch

IMAGE_PYTHON = "python3"  # in the PATH of the image
MOUNTS_VARIABLE = "CLUSTERWRIGHT_MOUNTS"  # read by the program that starts Slurm's OCI containers
BEGIN = "clusterwright.onhost.adapters.begin"
_RUNTIME = "clusterwright.runtime"
_LOOP = ("loop", "text", "windows")
PARTS = {
    "gpt": ("text", "transformer"),
    "llama": (*_LOOP, "models.llama", "weights"),
    "bert": (*_LOOP, "models.bert"),
    "resnet": ("loop", "models.resnet", "image_data"),
    "instruct": ("loop", "dialogues", "models.llama", "lora"),
}  # without the recipe itself, which runs as __main__
_FSDP = "torch.distributed.fsdp"
_PARALLEL_IMPORTS = {
    "shard": _FSDP,
    "pipeline": _FSDP,
    "tensor": "torch.distributed.tensor.parallel",
}  # importing each takes two seconds
LOOPBACK = "127.0.0.0/8"
LIBRARY = "/opt/clusterwright/lib"  # decision 0001: the library for jobs on every host
SHORTEST_GRACE_S, LONGEST_GRACE_S = 20, 300  # a save takes seconds to minutes; Slurm may signal 60 s early


def command(job: Job) -> tuple[str, ...]:
    """Return the command of the ranks: arguments for Python, or for `plain` the program with its arguments."""
    if is_plain(job):
        return job.program or ("python", *of_python(job))
    framework = adapter(job)
    if job.program is None and framework.needs_only_torch:
        return of_python(job)
    return ("-m", BEGIN, "rank", job.framework, *(job.program or ("python", *of_python(job))))


def adapter(job: Job) -> Adapter:
    """Return the adapter (onhost/adapters) of the job's framework."""
    return registry.adapter(job.framework)


def launcher(job: Job) -> str:
    """Return the launcher of the job; default: that of its framework."""
    return job.launcher if "launcher" in job.model_fields_set else adapter(job).launcher


def is_plain(job: Job) -> bool:
    """Return whether the ranks run without a supervisor (onhost/supervisor/unsupervised.py)."""
    return not registry.launcher(launcher(job)).is_supervised


def workdir(job: Job, run: str) -> str | None:
    """Return the working directory: the job's `workdir`, else the copy of its code; None means the run's folder."""
    return job.environment.workdir or (f"{run}/code" if job.code else None)


def of_python(job: Job) -> tuple[str, ...]:
    """Return the arguments for Python: the job's command, or the recipe as a module with its options."""
    if job.command is not None:
        return job.command
    arguments = dict(job.arguments)
    if job.parallel and job.parallel.micro_batch > 1:
        arguments["microbatch"] = job.parallel.micro_batch
    options = [item for name, value in arguments.items() for item in _option(name, value)]
    return ("-m", f"clusterwright.runtime.recipes.{job.recipe}", *options)


def library_of(cluster: Cluster) -> str:
    """Return the folder on PYTHONPATH of jobs with our library, installed by an apply or beside the user's runs."""
    if cluster.unmanaged is None:
        return LIBRARY
    from clusterwright.launch.run import runs_folder
    from clusterwright.launch.unmanaged.library import library_folder

    return library_folder(runs_folder(cluster))


def run_module(cluster: Cluster) -> str:
    """Return the program that runs a module of our library in a job, without modules of the current folder."""
    return shlex.quote(f"{library_of(cluster)}/{FILE}")


def grace_s(job: Job) -> int:
    """Return seconds before the time limit at which ranks are signaled to save: a tenth of the limit, within bounds."""
    return max(SHORTEST_GRACE_S, min(LONGEST_GRACE_S, job.time // 10))


def python(job: Job, cluster: Cluster) -> str:
    """Return the path of the Python with torch on the hosts."""
    return job.environment.python or cluster.software.python


def launch_of(job: Job, cluster: Cluster | None, run: str) -> Launch:
    """Return the Launch record in job.json of a run in the folder `run`; without a cluster, of a local run."""
    management = str(cluster.networks.management.subnet) if cluster else LOOPBACK
    compute = str(cluster.networks.compute.subnet) if cluster and cluster.networks.compute else management
    return Launch(
        command=command(job),
        launcher=launcher(job),
        restarts=_restarts(job),
        grace_s=grace_s(job),
        checkpoints=job.checkpoint.folder or f"{run}/checkpoints",
        imports=imports(job),
        workdir=workdir(job, run),
        management=management,
        compute=compute,
        gres=share(job, cluster).gres if cluster else None,
        image=image_settings(job, cluster) if cluster else None,
    )


def _restarts(job: Job) -> int:
    """Return the number of restarts of the program within a job, `recovery.restarts`.

    Without a supervisor it is 0 unless the job sets it, as the program may not be able to resume.
    """
    has_restarts = "restarts" in job.recovery.model_fields_set or not is_plain(job)
    return job.recovery.restarts if has_restarts else 0


def imports(job: Job) -> tuple[str, ...]:
    """Return modules that the fork server imports besides torch: runtime, recipe's modules and `warm.imports`."""
    ours = (_RUNTIME, *(f"{_RUNTIME}.recipes.{name}" for name in PARTS.get(job.recipe or "", ())))
    parallel = job.parallel if job.recipe else None
    parallel_imports = [
        module
        for name, module in _PARALLEL_IMPORTS.items()
        if parallel and getattr(parallel, name) not in (1, "none")
    ]
    return (*ours, *dict.fromkeys(parallel_imports), *job.warm.imports)


def _option(name: str, value: str | float | bool) -> tuple[str, ...]:  # noqa: FBT001 (a value of the file, not a switch)
    """Return an argument as options of a command line: `steps: 300` is `--steps=300`, true the bare option.

    False is nothing.
    """
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return (option,) if value else ()
    return (f"{option}={value}",)


def image_settings(job: Job, cluster: Cluster) -> tuple[str, str, str, str] | None:
    """Return runtime, image, mounts and Python for the agents; None without an image."""
    if job.container is None:
        return None
    runtime_name = cluster.environments.runtime(job.container.image)
    paths = job.container.mounts
    if runtime_name == "pyxis":  # pyxis itself mounts homes only
        from clusterwright.provision.container_mounts import mounts

        shared = [mount.path for mount in mounts(cluster) if mount.path != "/home"]
        paths = tuple(dict.fromkeys((*shared, *paths)))
    return str(runtime_name), job.container.image, ":".join(paths), job.environment.python or IMAGE_PYTHON


def container_variables(job: Job, cluster: Cluster) -> dict[str, str]:
    """Return the environment variables of a job in Slurm's OCI containers: its mounts; empty for other jobs."""
    settings = image_settings(job, cluster)
    return {MOUNTS_VARIABLE: settings[2]} if settings and settings[0] == "oci" and settings[2] else {}


def image_check_script(run: str, settings: tuple[str, ...], cluster: Cluster, run_module: str) -> str:
    """Return lines of bash that find a Python on the host for the supervisor, and check the job's image by it.

    An image without Python or torch ends the run with the reason.
    """
    outside = shlex.quote(cluster.software.python)
    return f"""# The supervisor runs outside the image, where Slurm's commands are; any Python of the host works.
outside=$(command -v {outside} || command -v python3)

# An image without Python or torch ends the run here, with the reason.
"$outside" {run_module} clusterwright.onhost.supervisor.inside {shlex.join((run, *settings))} || exit 1

"""
