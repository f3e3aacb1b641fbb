"""Doubts about the script of a job, each with its line: what will probably not run, or not as the job is allocated."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from clusterwright.config.job import Job
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.launch.lines import rewrite
from clusterwright.launch.lines import tokens as t
from clusterwright.launch.lines.note import Note
from clusterwright.launch.lines.rule import Size, contradicts
from clusterwright.launch.lines.source import Script
from clusterwright.launch.lines.undefined_names import undefined_names
from clusterwright.onhost.adapters.launch_options import ADDRESS, NODE_RANK

MAX_NOTES = 8  # of one kind
_SET_BY_JOB = {"MASTER_ADDR": ADDRESS, "RANK": NODE_RANK, "NODE_RANK": NODE_RANK}
_SBATCH = re.compile(r"^#SBATCH\s", re.MULTILINE)


def doubts(job: Job, script: Script | None) -> list[Note]:
    """Return warnings about the job's script; the script itself is never changed.

    Empty without a script; at most MAX_NOTES of each kind, and only the error if its syntax is invalid.
    """
    if script is None:
        return []
    if script.syntax_error:
        return [Note(f"{script.name}:{script.syntax_error}", is_warning=True)]
    size = Size(job.nodes, job.gpus_per_node)
    if script.tree is None:
        return [Note(text, is_warning=True) for text in _of_shell(script, size)][:MAX_NOTES]
    texts = [name.message(script.name) for name in undefined_names(script)[:MAX_NOTES]]
    texts += list(_fixed_places(script.name, script.tree, size))[:MAX_NOTES]
    return [Note(text, is_warning=True) for text in texts]


def _of_shell(script: Script, size: Size) -> Iterator[str]:
    """Yield what contradicts the allocation in the launch lines of a shell script, which are not rewritten."""
    if _SBATCH.search(script.text):
        yield _(
            "{script}: its #SBATCH lines are not read; the job has {nodes} nodes with {gpus} GPUs each",
            script=script.name,
            nodes=size.nodes,
            gpus=size.ranks,
        )
    for command in t.of_shell(script.text):
        try:
            edits = list(rewrite.edits(command, size, in_shell=True))
        except WrightError as error:
            yield f"{script.name}:{_line(script.text, command[0].start)}: {error.findings[0].message}"
            continue
        if edits:
            yield _(
                "{script}:{line}: {options} contradict the allocation ({nodes} nodes, {ranks} ranks each)",
                script=script.name,
                line=_line(script.text, command[0].start),
                options=" ".join(edit.typed for edit in edits),
                nodes=size.nodes,
                ranks=size.ranks,
            )


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _fixed_places(name: str, tree: ast.Module, size: Size) -> Iterator[str]:
    """Yield each literal of the script that replaces an address or a rank of the job: os.environ["RANK"] = "0"."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)):
            continue
        for target in node.targets:
            variable = _environment_variable(target)
            meaning = _SET_BY_JOB.get(variable, "")
            if meaning and size.nodes > 1 and contradicts(meaning, str(node.value.value), size):
                yield _(
                    "{script}:{line}: sets {variable} to {value} on every host, in place of the job's; remove the line",
                    script=name,
                    line=node.lineno,
                    variable=variable,
                    value=node.value.value,
                )


def _environment_variable(target: ast.expr) -> str:
    """Return the name in `os.environ["NAME"]`; empty for anything else."""
    is_environ = isinstance(target, ast.Subscript) and ast.unparse(target.value) in ("os.environ", "environ")
    if is_environ and isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        return str(target.slice.value)
    return ""
