"""Kinds of files and folders that users have: what a file is, and the command that takes it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePath

from clusterwright.config.other_files import CLUSTER_KEYS, JOB_KEYS, tool_of
from clusterwright.errors import Finding, Location
from clusterwright.i18n import N_, _

HEAD = 64 * 1024  # bytes of a file that its kind is searched in
CLUSTER, JOB, PYTHON, SBATCH, SHELL = "cluster", "job", "python", "sbatch", "shell"
SLURM, LOG, ARCHIVE, TORCH, SAFETENSORS, TOOL = "slurm", "log", "archive", "torch", "safetensors", "tool"
RUN, SLURM_FOLDER, LOGS, PROJECT, FOLDER = "run", "slurm-folder", "logs", "project", "folder"
FOLDERS = (RUN, SLURM_FOLDER, LOGS, PROJECT, FOLDER)

# What a kind is called, and what to do with a file of it.
_KINDS = {
    CLUSTER: (N_("a cluster file"), N_("to check it: wright validate {file}")),
    JOB: (N_("a job file"), N_("to submit it: wright train {file}; to check it: wright validate {file}")),
    PYTHON: (N_("a Python program"), N_("to run it: wright train -- python {file}")),
    SBATCH: (N_("an sbatch script"), N_("to write it as a line of wright: wright train {file}")),
    SHELL: (
        N_("a shell script"),
        N_(
            "to run it: wright train -- bash {file}; a job file has `program: [...]` for it: wright schema job"
        ),
    ),
    SLURM: (N_("a file of Slurm"), N_("to check it: wright lint {file}")),
    LOG: (N_("a log"), N_("to explain it: wright why {file}")),
    ARCHIVE: (
        N_("a tar archive"),
        N_(
            "one of wright bundle is named in the cluster file (`wright explain software.bundle`); to unpack any"
            " other: tar -xf {file}"
        ),
    ),
    TORCH: (
        N_("a file of torch.save"),
        N_(
            "to make a checkpoint of it: wright checkpoints convert {file} checkpoints/step-00000000 --from torch"
        ),
    ),
    SAFETENSORS: (N_("a safetensors file"), N_("no command of wright reads it")),
    RUN: (
        N_("a folder of a run or of checkpoints"),
        N_("to list its checkpoints: wright checkpoints list {file}"),
    ),
    SLURM_FOLDER: (N_("a folder of Slurm's files"), N_("to check them: wright lint {file}")),
    LOGS: (N_("a folder of logs"), N_("to explain them: wright why {file}")),
    PROJECT: (N_("a folder with a cluster file"), N_("name that file: {file}/cluster.yaml")),
    FOLDER: (N_("a folder"), N_("name a file, such as one that `ls {file}` shows")),
}
_SUFFIXES = {
    ".py": PYTHON,
    ".sh": SHELL,
    **dict.fromkeys((".sbatch", ".slurm"), SBATCH),
    **dict.fromkeys((".out", ".log", ".err"), LOG),
}
SPEC_SUFFIXES = (".yaml", ".yml", ".json")
_LOGS = (".out", ".log", ".err")
_ARCHIVES = (".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2")
_TAR = re.compile(rb"(?s).{257}ustar")
_TORCH = re.compile(rb"(?s)PK\x03\x04.{26}[^/\x00]{1,99}/(?:data\.pkl|\.format_version|version|byteorder)")
_DIRECTIVE = re.compile(r"^#SBATCH\s", re.MULTILINE)
_SHEBANG = re.compile(r"#!.*\b(python|bash|sh|zsh)\d*(?:\.\d+)?\s*$", re.MULTILINE)
_LOG = re.compile(r"^(?:slurmstepd|srun|slurmd): |^Traceback \(most recent call last\):$", re.MULTILINE)
_CLUSTER, _JOB = (
    re.compile(rf"^['\" \t{{]*(?:{'|'.join(keys)})['\"]?\s*:", re.MULTILINE)
    for keys in (CLUSTER_KEYS, JOB_KEYS)
)
STEP = re.compile(r"step-\d{8}")


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a file is: its kind, its name for people, and what to do with it."""

    kind: str
    name: str
    fix: str


def kind_of_file(path: PurePath, head: bytes) -> FileKind | None:
    """Return the kind of a file (such as cluster file, job file or log) by its name and its first bytes.

    None if neither tells it.
    """
    if kind := _binary(path, head):
        return _file_kind(kind, path)
    text = head.decode(errors="replace")
    if is_slurm_name(path.name):
        return _file_kind(SLURM, path)
    if path.suffix in SPEC_SUFFIXES:
        tool = tool_of(text, path.name)
        if tool:
            return FileKind(TOOL, _(tool.name), _(tool.fix))
        spec = CLUSTER if _CLUSTER.search(text) else JOB if _JOB.search(text) else ""
        return _file_kind(spec, path) if spec else None
    kind = _of_text(text, _SUFFIXES.get(path.suffix, ""))
    return _file_kind(kind, path) if kind else None


def is_slurm_name(name: str) -> bool:
    """Return True for the name of a file of Slurm."""
    from clusterwright.config.slurm_rules import KINDS

    return name in KINDS


def _binary(path: PurePath, head: bytes) -> str:
    if _TAR.match(head) or (b"\0" in head and path.name.endswith(_ARCHIVES)):
        return ARCHIVE
    if _TORCH.match(head) or (head[:2] == b"\x80\x02" and path.suffix in (".pt", ".pth", ".bin", ".ckpt")):
        return TORCH
    return SAFETENSORS if path.suffix == ".safetensors" else ""


def _of_text(text: str, by_suffix: str) -> str:
    """Return the kind of a text by its content, or by its suffix; empty if neither says it.

    sbatch accepts a script only if it begins with `#!`; a log may quote a script.
    """
    if by_suffix != LOG and text.startswith("#!") and _DIRECTIVE.search(text):
        return SBATCH
    if by_suffix:
        return by_suffix
    if shebang := _SHEBANG.match(text):
        return PYTHON if shebang[1] == "python" else SHELL
    return LOG if _LOG.search(text) else ""


def kind_of_folder(path: PurePath, names: Collection[str]) -> FileKind:
    """Return the kind of a folder by the names in it."""
    if "job.json" in names or "checkpoints" in names or any(map(STEP.fullmatch, names)):
        kind = RUN
    elif "slurm.conf" in names:
        kind = SLURM_FOLDER
    elif "cluster.yaml" in names:
        kind = PROJECT
    else:
        kind = LOGS if any(name.endswith(_LOGS) for name in names) else FOLDER
    return _file_kind(kind, path)


def _file_kind(kind: str, path: PurePath) -> FileKind:
    name, fix = _KINDS[kind]
    return FileKind(kind, _(name), _(fix).format(file=shlex.quote(str(path))))


def wrong_kind(path: PurePath, kind: FileKind, needed: str) -> Finding:
    """Return the finding `other-file`: a command got a file of this kind, but needs what `needed` describes."""
    message = _("{file} is {kind}, but {needed} is needed here", file=path, kind=kind.name, needed=needed)
    return Finding("other-file", message, kind.fix, (Location(str(path)),))
