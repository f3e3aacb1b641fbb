"""A linter for Slurm's own files: what a release does not know ends its daemons at once.

It knows keys and those words of values that came and went; it does not know what a value may be, nor whether
two of them go together. For that the real daemon is started (roles/slurm).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.config.slurm_keys.table import Span, key_spans, line_keys, value_spans
from clusterwright.errors import closest_name

# What to write in place of a key or word that is gone, from the release notes of the release that took it away.
REPLACED = {
    "accountingstorageloc": "slurmdbd.conf names the database, JobCompLoc the file of ended jobs",
    "accountingstorageuser": "it did nothing; slurmdbd.conf has StorageUser",
    "allowedkmemspace": "kernel memory is no longer held apart",
    "blocklevels": "BlockSizes, in hosts",
    "blocksizes": "BlockLevels, in powers of two of the first block",
    "cgroupautomount": "leave it out: control groups are found where they are mounted",
    "cgroupreleaseagentdir": "leave it out",
    "constrainkmemspace": "kernel memory is no longer held apart",
    "corespecplugin": "leave it out",
    "epilogtimeout": "PrologEpilogTimeout, for both",
    "maxkmempercent": "kernel memory is no longer held apart",
    "memlimitenforce": "JobAcctGatherParams=OverMemoryKill, or ConstrainRAMSpace in cgroup.conf",
    "minkmemspace": "kernel memory is no longer held apart",
    "namespacetype": "JobContainerType",
    "preemptparameters": "SchedulerParameters, with preempt_ before the word",
    "prologtimeout": "PrologEpilogTimeout, for both",
    "routeplugin": "TopologyParam=RouteTree",
    "select/cons_res": "select/cons_tres",
    "job_container/tmpfs": "NamespaceType=namespace/tmpfs",
    "route/topology": "TopologyParam=RouteTree",
    "topology/3d_torus": "topology/torus3d, from 26.05",
    "topology/default": "topology/flat",
}
# A key, perhaps an operator, and a value that may stand in quotes.
_PAIR = re.compile(r'([A-Za-z][A-Za-z0-9_.]*)\s*[-+*/]?=\s*("[^"]*"|\S*)')


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a release will not take: the line, the key or word, and what is the matter."""

    line: int
    key: str
    message: str
    fatal: bool

    def __str__(self) -> str:
        return f"line {self.line}: {self.key}: {self.message}"


def lint(text: str, file: str, slurm_release: str) -> tuple[Finding, ...]:
    """What that release does not know in the text of slurm.conf, cgroup.conf, gres.conf, topology.conf, slurmdbd.conf.

    A file without tables (plugstack.conf, topology.yaml) has no findings.
    """
    if not key_spans(file):
        return ()
    return tuple(
        finding for number, line in _lines(text) for finding in _check_line(number, line, file, slurm_release)
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines as Slurm's parser joins them: comments gone, and a backslash at the end goes on with the next."""
    logical_line, first_number = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        part = re.sub(r"(?<!\\)#.*", "", line).rstrip()
        first_number = first_number or number
        if part.endswith("\\"):
            logical_line += part[:-1] + " "
            continue
        yield first_number, logical_line + part
        logical_line, first_number = "", 0
    if logical_line:
        yield first_number, logical_line


def _check_line(number: int, line: str, file: str, slurm_release: str) -> Iterator[Finding]:
    pairs = [(match[1], match[2].strip('"')) for match in _PAIR.finditer(line)]
    leading_token = line.strip().split(maxsplit=1)[0] if line.strip() else ""
    if leading_token.lower() == "include":
        return
    if leading_token and not pairs:
        yield Finding(number, leading_token, "this is no line of KEY=VALUE", fatal=True)
    kind = pairs[0][0].lower() if pairs and pairs[0][0].lower() in line_keys(file) else ""
    for index, (key, value) in enumerate(pairs):
        keys = key_spans(file, _spelled(file, kind)) if kind and index else key_spans(file)
        finding = _judge(
            number, key, keys, slurm_release, f" on a line of {pairs[0][0]}" if kind and index else ""
        )
        if finding:
            yield finding
        else:
            yield from _check_values(number, key, value, slurm_release)


def _spelled(file: str, kind: str) -> str:
    return key_spans(file)[kind].name


def _judge(number: int, key: str, keys: dict[str, Span], slurm_release: str, context: str) -> Finding | None:
    span = keys.get(key.lower())
    if span is None:
        suggestion = closest_name(
            key, [candidate.name for candidate in keys.values() if candidate.covers(slurm_release)]
        )
        hint = f"; did you mean {suggestion}?" if suggestion else ""
        return Finding(number, key, f"no release of Slurm knows this key{context}{hint}", fatal=True)
    return _judge_span(number, span, slurm_release, context)


def _judge_span(number: int, span: Span, slurm_release: str, context: str = "") -> Finding | None:
    """What is the matter with a name that some release takes."""
    instead = REPLACED.get(span.name.lower(), "")
    fix = f"; instead: {instead}" if instead else ""
    if slurm_release < span.first_release:
        return Finding(
            number,
            span.name,
            f"Slurm {slurm_release} does not know it{context}: since {span.first_release}{fix}",
            fatal=True,
        )
    if not span.covers(slurm_release):
        return Finding(
            number, span.name, f"gone: {span.last_release} was the last to take it{context}{fix}", fatal=True
        )
    if span.is_defunct(slurm_release):
        message = f"does nothing since {span.defunct}, and each start logs an error{fix}"
        return Finding(number, span.name, message, fatal=False)
    return None


def _check_values(number: int, key: str, value: str, slurm_release: str) -> Iterator[Finding]:
    """Words of the value that the release lacks; a word that no table names passes."""
    spans = value_spans(key)
    for token in value.split(",") if spans else ():
        keyword = re.split(r"[=:]", token.strip())[0].lower()
        span = spans.get(keyword) or next(
            (candidate for name, candidate in spans.items() if name.endswith(f"/{keyword}")), None
        )
        finding = _judge_span(number, span, slurm_release, f" in {key}") if span else None
        if finding:
            yield finding
