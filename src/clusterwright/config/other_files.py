"""Files of other tools in place of a cluster or job file, and keys of slurm.conf in one: what we have for them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterwright.errors import Finding, Location
from clusterwright.i18n import N_, _

_HEAD = 64 * 1024  # characters that are searched
# Keys by which a file is taken for a cluster file or a job file, besides `nodes`, which both have.
CLUSTER_KEYS = ("networks", "partitions", "storage", "users", "teams", "lab")
JOB_KEYS = ("command", "recipe", "gpus_per_node", "checkpoint", "recovery", "elastic", "container")
# Keys that only a cluster or job file has at its top: it is one with a wrong key, not a file of another tool.
_OURS = re.compile(r"^['\"]?(nodes|partitions|command|recipe|gpus_per_node)['\"]?\s*:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tool:
    """A kind of file: its name, patterns that all occur in it, and what to do with it."""

    name: str
    patterns: tuple[re.Pattern[str], ...]
    fix: str


def _at_line_starts(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"^{pattern}", re.MULTILINE) for pattern in patterns)


_JOB_FIX = N_(
    "write a job file (`wright schema job` shows its keys); wright kubernetes writes manifests from it"
)
_TOOLS = (
    Tool(
        N_("a Kubernetes manifest"),
        _at_line_starts(r"[{ \t]{0,8}['\"]?apiVersion['\"]?\s*:", r"[{ \t]{0,8}['\"]?kind['\"]?\s*:"),
        _JOB_FIX,
    ),
    Tool(
        N_("a Docker Compose file"),
        _at_line_starts(r"services\s*:", r"[ \t]+(image|build)\s*:"),
        N_("write a job file with `command` and `container`: `wright schema job` shows its keys"),
    ),
    Tool(
        N_("an Ansible playbook"),
        _at_line_starts(
            r"- +\S", r"(- |  )[ \t]*hosts\s*:", r"[ \t]+(tasks|roles|become|pre_tasks|gather_facts)\s*:"
        ),
        N_("write a cluster file: `wright init`; wright export --ansible writes a playbook from it"),
    ),
    Tool(
        N_("an Ansible inventory or another INI file"),
        _at_line_starts(r"\[[\w:.-]+\][ \t]*$", r"[\w.-]+(?:[ \t]+\w+=[^\s:]+)*[ \t]*$"),
        N_("write a cluster file: `wright init`; wright export --ansible writes an inventory from it"),
    ),
    Tool(
        N_("an sbatch script"),
        _at_line_starts(r"#SBATCH\s"),
        N_(
            "write the options of the sbatch script into a job file (`wright schema job`), or run "
            "wright train --nodes 2 --gpus 8 -- PROGRAM"
        ),
    ),
    Tool(
        N_("a Terraform file"),
        _at_line_starts(r"(resource|provider|terraform|module|variable)\b[^:\n]*\{[ \t]*$"),
        N_("write a cluster file: `wright init`; hosts of any provider that SSH reaches can be in it"),
    ),
    Tool(
        N_("a Dockerfile"),
        _at_line_starts(r"FROM\s+\S+", r"(RUN|CMD|COPY|ENTRYPOINT|WORKDIR)\s"),
        N_("build the image, then name it as `container` of a job file: wright explain container"),
    ),
    Tool(
        N_("a DeepSpeed configuration"),
        _at_line_starts(
            r"[{ \t]{0,8}['\"]?(train_batch_size|train_micro_batch_size_per_gpu|zero_optimization)['\"]?\s*:"
        ),
        N_(
            "pass the path of this file to your program in `command` of a job file: `wright schema job` shows its keys"
        ),
    ),
    Tool(
        N_("a configuration of Hugging Face Accelerate"),
        _at_line_starts(r"distributed_type\s*:", r"(num_processes|num_machines|compute_environment)\s*:"),
        N_("write a job file with `nodes` and `gpus_per_node`: `wright schema job` shows its keys"),
    ),
    Tool(
        N_("a model configuration of Hugging Face"),
        _at_line_starts(r"[{ \t]{0,8}['\"]model_type['\"]\s*:", r"[{ \t]{0,8}['\"]hidden_size['\"]\s*:"),
        N_("plan commands read such a file: `wright plan size --model FILE`"),
    ),
    Tool(
        N_("a Jupyter notebook"),
        _at_line_starts(r"[^#\n]*\"cells\"\s*:", r"[^#\n]*\"(cell_type|nbformat)\"\s*:"),
        N_("open it in JupyterLab: wright dev --jupyter --folder FOLDER, with the folder of the notebook"),
    ),
)


def other_file(text: str, file: str) -> Finding | None:
    """Return the finding that a text is a file of another tool; None if it looks like none."""
    tool = tool_of(text, file)
    if tool is None:
        return None
    message = _("{file} is {kind}, not a cluster or job file", file=file, kind=_(tool.name))
    return Finding("other-file", message, _(tool.fix), (Location(file),))


def tool_of(text: str, file: str) -> Tool | None:
    """Return the tool whose file a text is; None if it looks like none."""
    head = text[:_HEAD]
    if _OURS.search(head) or file.endswith(".sh"):  # the reader has a fix for shell scripts of all kinds
        return None
    return next((tool for tool in _TOOLS if all(pattern.search(head) for pattern in tool.patterns)), None)


_GPUS = re.compile(r"gpu:(?:([A-Za-z][\w-]*):)?(\d+)")
_SWITCH = {"yes": "true", "true": "true", "no": "false", "false": "false"}


def cluster_line(key: str, value: object, text: str) -> str:
    """Return the line `key: value` for a key of slurm.conf; empty for another key, or a value that has no such line.

    `text` is the value as it is in the file.
    """
    name, text = key.lower(), text.strip("'\"")
    if name == "clustername":
        return f"name: {text.lower()}"
    if name == "realmemory" and text.isdecimal():
        return f"memory: {text}MiB"
    if name == "default":
        switch = _SWITCH.get(str(value).lower() if isinstance(value, bool) else text.lower())
        return f"default: {switch}" if switch else ""
    if name == "cpus" and text.isdecimal() and int(text):
        return f"cpus: {{sockets: 1, cores_per_socket: {text}}}"
    if name == "gres" and (match := _GPUS.fullmatch(text)):
        return f"gpus: {{model: {match[1] or 'h100'}, count: {match[2]}}}"
    if name in ("maxtime", "defaulttime"):
        return _time_line("max_time" if name == "maxtime" else "default_time", text)
    return ""


def _time_line(key: str, text: str) -> str:
    from clusterwright.config.slurm_rules.conf import minutes
    from clusterwright.units import format_duration

    limit = minutes(text)
    return f"{key}: {format_duration(limit * 60)}" if limit else ""
