"""Claims on commands and settings of a training: GPUs of srun, loader workers, conda's CUDA. One judge for each."""

from __future__ import annotations

import re
import shlex

from clusterwright.i18n import _
from clusterwright.plan.sizing.claims.claim import Checked, Verdict

_GPU_OPTIONS = (
    "--gres",
    "--gpus",
    "-G",
    "--gpus-per-node",
    "--gpus-per-task",
    "--gpus-per-socket",
    "--tres-per-task",
)
_PROGRAM = re.compile(r"\b(python3?|torchrun|accelerate|deepspeed|train\w*)\b")
_SRUN = re.compile(r"\b(?:srun|salloc)\s[^`|;&]*")
_DIGIT = {"two": 2, "three": 3, "four": 4, "six": 6, "eight": 8, "两": 2, "二": 2, "三": 3, "四": 4, "八": 8}
_TIMES = r"(?P<times>\d{1,2}|" + "|".join(_DIGIT) + r")"
_CPUS = r"(?:\$?\{?[\w.]*cpus?\w*\}?(?:[\s-]per[\s-]task)?|(?:os\.)?cpu_count\(\)|cores?\b|核)"
_WORKERS = (
    re.compile(rf"(?:num_)?workers?\s*[=:]?\s*{_TIMES}\s*[x\u00d7*]\s*{_CPUS}", re.IGNORECASE),
    re.compile(rf"(?:num_)?workers?\s*[=:]?\s*{_CPUS}\s*[x\u00d7*]\s*{_TIMES}\b", re.IGNORECASE),
    re.compile(
        rf"{_TIMES}\s+(?:\w+\s+)?workers?\s+(?:for\s+)?(?:each|per|a|every)\s+(?:cpu|core)", re.IGNORECASE
    ),
    re.compile(
        rf"worker[^.。;]*?{_TIMES}\s*(?:times|[x\u00d7])\s*(?:the\s*)?(?:number of\s*)?{_CPUS}", re.IGNORECASE
    ),
    re.compile(rf"(?:cpu|核)\S*\s*的?\s*{_TIMES}\s*倍", re.IGNORECASE),
)
_CUDATOOLKIT = re.compile(
    r"\bcudatoolkit\b\s*(?:[=<>~]{1,2}|version|版本)?\s*v?(\d{1,2})(?:\.(\d{1,2}))?", re.IGNORECASE
)
SRUN_CLAIM = "srun-without-gpus"
_LAST_CUDATOOLKIT = (11, 8)  # of every channel; CUDA 12 has other packages (conda-forge.github.io issue 1963)


def judge_srun(line: str, *, name: str, row: str, statement: str, has_gpus: bool = False) -> Checked | None:
    """Judge a line that starts a training with srun: it disagrees if nothing requests GPUs; else return None.

    None also for a line without srun or a training program. `has_gpus`: the batch script around it requests GPUs.
    """
    match = _SRUN.search(line)
    if match is None or not _PROGRAM.search(match[0]):
        return None
    try:
        tokens = shlex.split(match[0], comments=True)
    except ValueError:  # an open quote, as in a sentence
        tokens = match[0].split()
    options = [token.split("=")[0] for token in tokens]
    if has_gpus or any(option in _GPU_OPTIONS or option.startswith("-G") for option in options):
        return None
    nodes, tasks = (_value(tokens, *names) for names in (("-N", "--nodes"), ("-n", "--ntasks")))
    gpus = tasks // nodes if nodes and tasks and tasks % nodes == 0 else 0
    added = f"--gpus-per-node={gpus}" if gpus else "--gpus-per-task=1"
    correction = " ".join([tokens[0], added, *tokens[1:]])
    return Checked(
        name,
        row,
        statement,
        None,
        None,
        "",
        _("the options of the line"),
        Verdict.DISAGREE,
        _(
            "A line with `srun` but without an option such as `--gpus-per-node` requests no GPU. Tasks of a Slurm"
            " job that requests no GPU see no GPU if cgroup.conf has ConstrainDevices; otherwise they use the "
            "same GPUs as jobs of others."
        ),
        correction,
    )


def _value(tokens: list[str], short: str, long: str) -> int:
    """Return the number that an option has in a command line; 0 without it, or if it is no number.

    Its forms are `-N4`, `-N 4`, `--nodes=4` and `--nodes 4`.
    """
    for index, token in enumerate(tokens):
        text = ""
        if token in {short, long}:
            text = tokens[index + 1] if index + 1 < len(tokens) else ""
        elif token.startswith(f"{long}="):
            text = token.partition("=")[2]
        elif token.startswith(short) and not token.startswith("--"):
            text = token.removeprefix(short)
        if text.isdigit():
            return int(text)
    return 0


def judge_workers(line: str, *, name: str, row: str, statement: str) -> Checked | None:
    """Judge a line that claims a number of loader workers per CPU: one per CPU agrees, more disagree.

    None for a line without such a number.
    """
    match = next((hit for pattern in _WORKERS if (hit := pattern.search(line))), None)
    if match is None or not re.search(r"worker|loader|加载", line, re.IGNORECASE):
        return None
    text = match["times"].lower()
    times = int(text) if text.isdigit() else _DIGIT[text]
    is_correct = times <= 1
    return Checked(
        name,
        row,
        statement,
        float(times),
        1.0,
        _("workers per CPU"),
        _("each worker is a process, and Slurm gives the task cpus_per_task CPUs"),
        Verdict.AGREE if is_correct else Verdict.DISAGREE,
        _(
            "With {times} DataLoader workers for each CPU of a Slurm task, the workers compete for the CPUs of "
            "the task with each other, the rank and NCCL, and each worker holds batches in memory. If the "
            "DataLoader is too slow, request more CPUs for the task, or use data on local disks.",
            times=times,
        ),
        "" if is_correct else 'num_workers=int(os.environ["SLURM_CPUS_PER_TASK"]) - 1',
    )


def judge_cudatoolkit(line: str, *, name: str, row: str, statement: str) -> Checked | None:
    """Judge a version of conda's package cudatoolkit, whose last is 11.8; None for a line without one."""
    match = _CUDATOOLKIT.search(line)
    if match is None:
        return None
    version = (int(match[1]), int(match[2] or 0))
    is_correct = version <= _LAST_CUDATOOLKIT
    text = f"{match[1]}.{match[2]}" if match[2] else match[1]
    return Checked(
        name,
        row,
        statement,
        None,
        None,
        "",
        _("the channels defaults, conda-forge and nvidia"),
        Verdict.AGREE if is_correct else Verdict.DISAGREE,
        _(
            "The last version of the conda package cudatoolkit is 11.8, in every channel; for CUDA 12 and later, "
            "the packages are cuda-toolkit and cuda-version. PyTorch needs none of these conda packages, because "
            "its wheels contain the CUDA libraries; the host needs only the driver."
        ),
        "" if is_correct else f"conda install -c nvidia cuda-toolkit={text}",
    )
