"""Fit a job whose program is a launch line to the allocation, and report what was changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.i18n import _
from clusterwright.launch.command import launcher
from clusterwright.launch.lines import local_rank, rewrite
from clusterwright.launch.lines.doubts import doubts
from clusterwright.launch.lines.note import Note, Prepared
from clusterwright.launch.lines.rule import Size
from clusterwright.launch.lines.slurm_line import gpus_note, rank_note, require_pyxis
from clusterwright.launch.lines.source import Script, read_script, strings
from clusterwright.onhost.adapters import registry
from clusterwright.onhost.adapters.launch_options import TORCH, LaunchCommand

AGENT = "agent"  # sets the variables that torchrun sets
TASKS = "srun"
OF_TASKS = frozenset({"SLURM_PROCID", "SLURM_LOCALID"})
OF_RANKS = frozenset({"RANK", "LOCAL_RANK"})


def fit(job: Job, cluster: Cluster | None, base_folder: Path) -> Prepared:
    """Return the job with its launch line rewritten to its allocation; without a cluster it runs on this machine.

    A prepared job stays as it is.

    Raises:
        WrightError: `launch-line`: the line contradicts the allocation and cannot be rewritten; `no-pyxis`.
    """
    notes: list[Note] = []
    script = read_script(job, base_folder)
    if job.program is not None:
        if cluster is not None:
            require_pyxis(job, cluster)
            notes += [Note(text) for text in (gpus_note(job, cluster), rank_note(job, script)) if text]
        job = _fitted(job, script, notes)
        job = _supervised(job, notes, is_local=cluster is None)
    elif cluster is not None:
        job = _as_tasks(job, script, notes)
    notes += doubts(job, script)
    return Prepared(job, tuple(notes))


def _fitted(job: Job, script: Script | None, notes: list[Note]) -> Job:
    """Return the job with its launch line rewritten to its allocation; the local rank is passed as the script reads it.

    A note for each change that users should know of is appended to `notes`.
    """
    rewritten = rewrite.rewrite(job.program or (), Size(job.nodes, job.gpus_per_node))
    if rewritten.contradicting:
        notes.append(
            Note(
                _(
                    "launch line: {options} contradict the allocation ({nodes} nodes, {ranks} ranks each) "
                    "and are corrected; the job runs `{line}`",
                    options=" ".join(rewritten.contradicting),
                    nodes=job.nodes,
                    ranks=job.gpus_per_node,
                    line=rewritten.line,
                )
            )
        )
    program, choice = local_rank.choose(rewritten.program, script)
    if choice:
        notes.append(Note(choice))
    return job if program == job.program else job.model_copy(update={"program": program})


def _supervised(job: Job, notes: list[Note], *, is_local: bool) -> Job:
    """Return the job with the script as its command where the launcher supervises ranks, as on this machine.

    Unchanged with another launcher, or if the program is no launch line; else a note is added to `notes`.
    """
    if not (is_local or registry.launcher(launcher(job)).is_supervised):
        return job
    unwrapped = _unwrap(job)
    if unwrapped is None:
        return job
    notes.append(
        Note(
            _(
                "launch line: launcher `{launcher}` starts {script} with {nodes} x {ranks} ranks",
                launcher=unwrapped.launcher,
                script=" ".join(unwrapped.command or ()),
                nodes=job.nodes,
                ranks=job.gpus_per_node,
            )
        )
    )
    return unwrapped


def _as_tasks(job: Job, script: Script | None, notes: list[Note]) -> Job:
    """Return the job with launcher `srun` if its script reads Slurm's numbers of the task instead of its rank.

    Unchanged without a script, if the job file sets a launcher, or if the script reads the rank too; else with a note.
    """
    if script is None or "launcher" in job.model_fields_set:
        return job
    read = strings(script)
    if not read & OF_TASKS or read & OF_RANKS:
        return job
    names = ", ".join(sorted(read & OF_TASKS))
    notes.append(
        Note(
            _(
                "{script} reads {names}, which only tasks of Slurm have: launcher `{launcher}`",
                script=script.name,
                names=names,
                launcher=TASKS,
            )
        )
    )
    return job.model_copy(update={"launcher": TASKS})


def _unwrap(job: Job) -> Job | None:
    """Return the job with the script of its torchrun line as its command, for a supervised launcher of ranks.

    None if the program is not a single line with only that launcher.
    """
    lines = rewrite.command_lines(job.program or ())
    if len(lines) != 1 or any(token.expands for token in lines[0]):
        return None
    launches = list(rewrite.commands(lines[0]))
    if len(launches) != 1 or launches[0][0].spec is not TORCH:
        return None
    launch, tokens, _outer = launches[0]
    command = _command(launch, [token.text for token in tokens])
    if not command:
        return None
    current = launcher(job)
    supervised = current if registry.launcher(current).is_supervised else AGENT
    fields = {"program": None, "command": command, "launcher": supervised}
    restarts = next((option.value for option in launch.options if option.name == "--max-restarts"), None)
    if restarts is not None and restarts.isdigit() and "recovery" not in job.model_fields_set:
        recovery = job.recovery.model_copy(update={"restarts": int(restarts)})
        return job.model_copy(update={**fields, "recovery": recovery})
    return job.model_copy(update=fields)


def _command(launch: LaunchCommand, tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments for Python; empty without a script, and for a program that is not Python."""
    names = {option.name for option in launch.options}
    program = tuple(tokens[launch.program :])
    if not program or "--no-python" in names:
        return ()
    return ("-m", *program) if names & {"-m", "--module"} else program
