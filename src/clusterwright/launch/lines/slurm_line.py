"""What a line with srun requests from Slurm beyond its size: containers of pyxis, and GPUs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch.lines.rewrite import command_lines, commands
from clusterwright.launch.lines.source import Script, python_script, strings
from clusterwright.launch.share import share
from clusterwright.onhost.adapters.launch_options import (
    CONTAINER,
    GPUS,
    RANKS,
    RANKS_PER_NODE,
    SRUN,
    LaunchCommand,
)


def require_pyxis(job: Job, cluster: Cluster) -> None:
    """Raise WrightError if the launch line has options of pyxis and the cluster no pyxis, as srun does not know them.

    An unmanaged cluster may have it and passes.

    Raises:
        WrightError: `no-pyxis`, with the line that starts the same image as far as the cluster has runtimes.
    """
    if cluster.unmanaged or "pyxis" in cluster.environments.containers:
        return
    for launch, arguments in _sruns(job.program or ()):
        options = [option for option in launch.options if option.meaning == CONTAINER]
        if not options:
            continue
        values = {option.name: option.value or "" for option in options}
        message = _(
            "the launch line has {options}, but cluster `{cluster}` has no pyxis",
            options=" ".join(dict.fromkeys(option.name for option in options)),
            cluster=cluster.name,
        )
        fix = _fix(job, cluster, values, arguments[launch.program :])
        raise WrightError.from_code("no-pyxis", message, fix, exit_code=EXIT_USAGE)


def _fix(job: Job, cluster: Cluster, values: dict[str, str], program: Sequence[str]) -> str:
    image = values.get("--container-image", "")
    if not image or cluster.environments.runtime(image) is None:
        return _("add `environments: {containers: [pyxis]}` to the cluster file, then run wright apply")
    mounts = [mount.split(":")[0] for mount in values.get("--container-mounts", "").split(",") if mount]
    fields = [f"--set container.image={image}"]
    fields += [f"--set {shlex.quote('container.mounts=[' + ', '.join(mounts) + ']')}"] if mounts else []
    size = f"--nodes {job.nodes} --gpus {job.gpus_per_node}"
    return _("run `{line}`", line=f"wright train {size} {' '.join(fields)} -- {shlex.join(program)}")


def gpus_note(job: Job, cluster: Cluster) -> str:
    """Return a sentence on a line with srun that requests tasks on GPU hosts but no GPUs; else an empty string."""
    gres = share(job, cluster).gres
    for launch, _arguments in _sruns(job.program or ()):
        meanings = {option.meaning for option in launch.options}
        if gres and meanings & {RANKS, RANKS_PER_NODE} and GPUS not in meanings:
            return _(
                "launch line: srun alone gets no GPU without `--gres={gres}`; the job requests it for each of {nodes} "
                "nodes",
                gres=gres,
                nodes=job.nodes,
            )
    return ""


def rank_note(job: Job, script: Script | None) -> str:
    """Return a sentence on a line with srun whose script reads its rank; else an empty string."""
    if script is None or not ("RANK" in strings(script) or "init_process_group" in script.text):
        return ""
    if any(python_script(arguments[launch.program :]) for launch, arguments in _sruns(job.program or ())):
        return _("launch line: Slurm sets no RANK; tasks of srun get the variables of torchrun from this job")
    return ""


def _sruns(program: Sequence[str]) -> list[tuple[LaunchCommand, list[str]]]:
    """Return each srun of the program, with its arguments."""
    return [
        (launch, [token.text for token in tokens])
        for line in command_lines(program)
        for launch, tokens, _outer in commands(line)
        if launch.spec is SRUN
    ]
