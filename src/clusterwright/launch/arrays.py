"""Arrays and sweeps: several runs of one job as one Slurm job array, each with its own folder and script."""

from __future__ import annotations

import io
import shlex
import tarfile
from collections.abc import Mapping, Sequence
from itertools import product

from clusterwright.config.job import Job

ID = "SLURM_ARRAY_TASK_ID"


def expand(job: Job) -> tuple[tuple[int, Job], ...]:
    """Return (array task number, job) of each run: of the array's range, or of each combination in the sweep."""
    if job.array:
        numbers = _numbers(job.array.partition("%")[0])
        return tuple((number, _single_job(job, number)) for number in numbers)
    chosen = [dict(zip(job.sweep, values, strict=True)) for values in product(*job.sweep.values())]
    return tuple((number, _with(_single_job(job, number), values)) for number, values in enumerate(chosen))


def range_of(job: Job) -> str:
    """Return the value of `sbatch --array` for the job's array or sweep."""
    return job.array or f"0-{len(expand(job)) - 1}"


def script(template: str, name: str, folder: str, numbers: str) -> str:
    """Return the batch script of a job array: each task renames its job to its run, and executes that run's script.

    `template` is the script of any of the runs, as all have the same sbatch options. `numbers` is for --array.
    """
    changed = {"job-name": name, "output": f"{folder}/slurm-%A_%a.out", "chdir": folder}
    options = [_changed(line, changed) for line in template.splitlines() if line.startswith("#SBATCH ")]
    return "\n".join(
        [
            "#!/bin/bash",
            f"# Made by clusterwright: runs {numbers} of `{name}`, one per task.",
            *options,
            f"#SBATCH --array={numbers}",
            "",
            f'run=$(sed -n "s/^${ID} //p" {shlex.quote(folder)}/runs)',
            f'cd "$(dirname {shlex.quote(folder)})/$run" || exit 1',
            "# The jobs of a run have its name.",
            'scontrol update jobid="$SLURM_JOB_ID" jobname="$run"',
            'exec >>"slurm-$SLURM_JOB_ID.out" 2>&1',
            "exec bash job.sh",
            "",
        ]
    )


def packed(files: Mapping[str, str], links: Mapping[str, str], folders: Sequence[str]) -> bytes:
    """Return a tar.gz archive with these texts, symbolic links and empty folders, by path."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=3) as tar:
        for path in folders:
            entry = tarfile.TarInfo(path)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for path, text in files.items():
            entry, data = tarfile.TarInfo(path), text.encode()
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
        for path, target in links.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
    return out.getvalue()


def _numbers(text: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for part in text.split(","):
        span, _, step = part.partition(":")
        low, _, high = span.partition("-")
        numbers += range(int(low), int(high or low) + 1, int(step or 1))
    return tuple(dict.fromkeys(numbers))


def _single_job(job: Job, number: int) -> Job:
    """Return the job of one run, with its number as a variable: no Slurm array contains its successor jobs."""
    variables = {**job.environment.variables, ID: str(number)}
    environment = job.environment.model_copy(update={"variables": variables})
    return job.model_copy(
        update={"name": f"{job.name}-{number}", "environment": environment, "array": None, "sweep": {}}
    )


def _with(job: Job, values: Mapping[str, str | float | bool]) -> Job:
    """Return the job with more arguments: of the recipe, else as options at the end of the command."""
    if job.recipe:
        return job.model_copy(update={"arguments": {**job.arguments, **values}})
    added = tuple(f"--{name}={_format_value(value)}" for name, value in values.items())
    field = "command" if job.command is not None else "program"
    return job.model_copy(update={field: (*getattr(job, field), *added)})


def _format_value(value: str | float | bool) -> str:  # noqa: FBT001 (a value of the file, not a switch)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _changed(line: str, values: Mapping[str, str]) -> str:
    option = line.removeprefix("#SBATCH --").partition("=")[0]
    return f"#SBATCH --{option}={values[option]}" if option in values else line
