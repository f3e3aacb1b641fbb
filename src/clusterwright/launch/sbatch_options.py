"""The #SBATCH lines of a batch script as options of `wright train`, and those that it does not have."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from clusterwright.slurm.records import limit_seconds
from clusterwright.units import format_duration

_DIRECTIVE = re.compile(r"^#SBATCH\s+(\S.*)$", re.MULTILINE)
_SHORT_NAMES = (
    "-N nodes -n ntasks -G gpus -t time -J job-name -p partition -a array -d dependency -D chdir -A account"
    " -c cpus-per-task -o output -e error -q qos -C constraint -w nodelist -x exclude"
)
_SHORT = dict(zip(_SHORT_NAMES.split()[::2], _SHORT_NAMES.split()[1::2], strict=True))
_COUNT = re.compile(r"(?:gpu:)?(?:[A-Za-z][\w-]*:)?(\d+)")
_NODES = re.compile(r"(\d+)(?:-\d+)?")
_FINISHED = re.compile(r"afterok:(\d+(?::\d+)*)")
_GPUS = ("gpus-per-node", "gres", "gpus", "ntasks-per-node")  # the first that a script has is meant


def train_options(text: str) -> tuple[dict[str, str], list[str]]:
    """Return the options of `wright train` for the #SBATCH lines of a script, and the options that are left out."""
    typed = dict(_directives(text))
    nodes, finished = (
        _NODES.fullmatch(typed.get("nodes", "")),
        _FINISHED.fullmatch(typed.get("dependency", "")),
    )
    counts = {name: match for name in _GPUS if (match := _COUNT.fullmatch(typed.get(name, "")))}
    limit_s = limit_seconds(typed.get("time", ""))
    options = {
        "nodes": nodes[1] if nodes else "",
        **dict.fromkeys(counts, ""),
        "partition": typed.get("partition", ""),
        "time": format_duration(limit_s) if limit_s else "",
        "job-name": typed.get("job-name", ""),
        "array": typed.get("array", ""),
        "dependency": finished[1].replace(":", ",") if finished else "",
    }
    if counts:
        name, match = next(iter(counts.items()))
        hosts = int(options["nodes"] or 1) if name == "gpus" else 1
        options[name] = str(int(match[1]) // hosts or 1)
    names = {**dict.fromkeys(counts, "--gpus"), "job-name": "--name"}
    lines = {names.get(name, f"--{name}"): value for name, value in options.items() if value}
    omitted_options = [f"--{name}" for name in typed if name not in counts and not options.get(name)]
    return lines, omitted_options


def _directives(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each option of the #SBATCH lines, in its long form, and its value; empty for a flag."""
    for match in _DIRECTIVE.finditer(text):
        try:
            tokens = shlex.split(match[1], comments=True)
        except ValueError:  # an open quote
            tokens = match[1].split()
        while tokens:
            name, equals, value = tokens.pop(0).partition("=")
            if not name.startswith("--") and len(name) > 2:  # -N2
                name, equals, value = name[:2], "=", name[2:] + equals + value
            if not equals and tokens and not tokens[0].startswith("-"):
                value = tokens.pop(0)
            yield _SHORT.get(name, name.lstrip("-")), value
