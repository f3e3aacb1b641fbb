"""The steps of `wright guide`: each is one command of `wright`, as a user would type it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import join

from clusterwright.cli._first_day import RECIPES
from clusterwright.cli._show import cluster_option
from clusterwright.i18n import N_, _, current_language
from clusterwright.platforms.platform import DEFAULT  # the `os` of the template

CLUSTER, LAB, JOB = "cluster.yaml", "lab.yaml", "job.yaml"
MODELS = {"gpt": "gpt2", "llama": "llama2-7b", "bert": "bert-large"}  # what the planner sizes for a recipe
RANKS_PER_HOST = 2  # at most: in a lab, ranks share the processors of one machine
STEPS = 20  # of a recipe: under a minute
_LAB_SECTION = "\n# This section makes it the file of a lab"  # the last section of the template


@dataclass(frozen=True, slots=True)
class Step:
    """A step with its command; `name` is stored when it has finished."""

    name: str
    about: str
    arguments: tuple[str, ...]

    @property
    def line(self) -> str:
        """Return the step's command as a user types it."""
        return join(("wright", *self.arguments))

    def run(self) -> int:
        """Run the step's `wright` command on this terminal, in the current language; return its exit code."""
        from clusterwright.edge.terminal import run_interactive

        # -P: no module in the folder takes the place of one of ours.
        return run_interactive(
            [sys.executable, "-P", "-m", "clusterwright", "--lang", current_language(), *self.arguments]
        )


def steps(answers: Mapping[str, str]) -> tuple[Step, ...]:
    """Return the steps of `wright guide` for these answers, in order, each with its command."""
    lab = lab_file(answers)
    of_cluster, of_lab = (cluster_option(Path(file)) for file in (CLUSTER, lab))
    checked = " ".join(dict.fromkeys((CLUSTER, lab, JOB)))
    lines = [
        (
            "init",
            N_("Clusterwright writes the cluster file and the job file from your answers"),
            f"init --template lab --out {CLUSTER}",
        ),
        ("validate", N_("Validate the files"), f"validate {checked}"),
        ("expect", N_("Plan: what the hardware should reach"), f"plan expect {of_cluster}"),
        ("size", N_("Plan: how long a training takes"), _sizing(answers["train"])),
        ("lab", N_("Start virtual hosts on this machine, as root"), f"lab up {of_lab}"),
        ("preview", N_("Preview the changes of the hosts"), f"apply {of_lab} --dry-run"),
        ("apply", N_("Build the cluster"), f"apply {of_lab} --yes"),
        ("check", N_("Verify every host"), f"check {of_lab}"),
        ("train", N_("Train, and follow the logs"), f"train {JOB} {of_lab} --follow"),
        ("jobs", N_("List the runs"), f"jobs {of_lab}"),
    ]
    return tuple(Step(name, about, tuple(line.split())) for name, about, line in lines if line)


def _sizing(train: str) -> str:
    model = MODELS.get(train)
    of_cluster = cluster_option(Path(CLUSTER))
    return f"plan size {of_cluster} --model {model} --tokens 1B --global-batch 64" if model else ""


def lab_file(answers: Mapping[str, str]) -> str:
    """Return the path of the lab's cluster file: cluster.yaml, or a copy if lab hosts cannot run its system."""
    from clusterwright.platforms.platform import platform

    return CLUSTER if platform(answers["os"]).lab_suite else LAB


def write_files(answers: Mapping[str, str]) -> list[str]:
    """Write the answers into the file that `wright init` wrote, and write the job file; return the files."""
    from clusterwright.onhost.lib.files import write_atomic

    lab_text = _with_answers(Path(CLUSTER).read_text(encoding="utf-8"), answers)
    files = {CLUSTER: lab_text, JOB: job_text(answers)}
    if lab_file(answers) == LAB:
        site_text = lab_text.partition(_LAB_SECTION)[0].replace(f"os: {DEFAULT}\n", f"os: {answers['os']}\n")
        files |= {CLUSTER: site_text, LAB: lab_text}
    for name, content in files.items():
        write_atomic(Path(name), content)
    return list(files)


def _with_answers(text: str, answers: Mapping[str, str]) -> str:
    """Return the template of the lab with hosts, GPUs and operating system of the answers."""
    from clusterwright.catalog.gpus import gpu

    chosen, hosts = gpu(answers["gpu"]), int(answers["hosts"])
    memory, nvlink = f"{round(chosen.memory_bytes / 1e9)}GB", str(chosen.link_bytes_per_s > 0).lower()
    changes = {
        text.splitlines()[1]: f"# {_('Written by wright guide; `wright explain FIELD` explains a field.')}",
        f"os: {DEFAULT}\n": f"os: {answers['os'] if lab_file(answers) == CLUSTER else DEFAULT}\n",
        "hosts: gpu-node[1-4]\n": f"hosts: gpu-node[1-{hosts}]\n" if hosts > 1 else "hosts: gpu-node1\n",
        "model: a100, count: 4, memory: 80GiB, nvlink: true": (
            f"model: {chosen.name}, count: {answers['gpus']}, memory: {memory}, nvlink: {nvlink}"
        ),
        "\n  a100:\n": "\n  gpu:\n",
        "nodes: [a100]": "nodes: [gpu]",
    }
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


def job_text(answers: Mapping[str, str]) -> str:
    """Return the text of the job file: a recipe with few steps, or the user's own script."""
    train, hosts = answers["train"], min(2, int(answers["hosts"]))
    program = f"recipe: {train}\narguments: {{steps: {STEPS}}}\n"
    if train not in RECIPES:
        script = Path(train)
        program = (
            f"command: [{json.dumps(script.name)}]\ncode: {{folder: {json.dumps(str(script.parent))}}}\n"
        )
    return (
        f"# {_('Written by wright guide; `wright explain job.FIELD` explains a field.')}\n"
        f"name: first\n{program}nodes: {hosts}\ngpus_per_node: {min(RANKS_PER_HOST, int(answers['gpus']))}\n"
        "time: 30m\nuser: alice\ncheckpoint: {every: 10 steps, save_total_limit: 3}\n"
    )
