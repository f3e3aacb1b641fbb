"""A linter for Slurm's own files: what a release does not know ends its daemons at once.

It knows keys and those words of values that came and went; it does not know what a value may be, nor whether
two of them go together. For that the real daemon is started (roles/slurm).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.config.slurm_keys.table import Span, known_keys, known_words, line_keys
from clusterwright.errors import did_you_mean

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
    what: str
    fatal: bool

    def __str__(self) -> str:
        return f"line {self.line}: {self.key}: {self.what}"


def lint(text: str, file: str, of: str) -> tuple[Finding, ...]:
    """What that release does not know in the text of slurm.conf, cgroup.conf, gres.conf, topology.conf, slurmdbd.conf.

    A file without tables (plugstack.conf, topology.yaml) has no findings.
    """
    if not known_keys(file):
        return ()
    return tuple(finding for number, line in _lines(text) for finding in _look(number, line, file, of))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines as Slurm's parser joins them: comments gone, and a backslash at the end goes on with the next."""
    whole, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        part = re.sub(r"(?<!\\)#.*", "", line).rstrip()
        first = first or number
        if part.endswith("\\"):
            whole += part[:-1] + " "
            continue
        yield first, whole + part
        whole, first = "", 0
    if whole:
        yield first, whole


def _look(number: int, line: str, file: str, of: str) -> Iterator[Finding]:
    pairs = [(found[1], found[2].strip('"')) for found in _PAIR.finditer(line)]
    first = line.strip().split(maxsplit=1)[0] if line.strip() else ""
    if first.lower() == "include":
        return
    if first and not pairs:
        yield Finding(number, first, "this is no line of KEY=VALUE", fatal=True)
    kind = pairs[0][0].lower() if pairs and pairs[0][0].lower() in line_keys(file) else ""
    for index, (key, value) in enumerate(pairs):
        keys = known_keys(file, _spelled(file, kind)) if kind and index else known_keys(file)
        finding = _judge(number, key, keys, of, f" on a line of {pairs[0][0]}" if kind and index else "")
        if finding:
            yield finding
        else:
            yield from _words(number, key, value, of)


def _spelled(file: str, kind: str) -> str:
    return known_keys(file)[kind].name


def _judge(number: int, key: str, keys: dict[str, Span], of: str, where: str) -> Finding | None:
    span = keys.get(key.lower())
    if span is None:
        meant = did_you_mean(key, [one.name for one in keys.values() if one.covers(of)])
        hint = f"; did you mean {meant}?" if meant else ""
        return Finding(number, key, f"no release of Slurm knows this key{where}{hint}", fatal=True)
    return _judge_span(number, span, of, where)


def _judge_span(number: int, span: Span, of: str, where: str = "") -> Finding | None:
    """What is the matter with a name that some release takes."""
    instead = REPLACED.get(span.name.lower(), "")
    mend = f"; instead: {instead}" if instead else ""
    if of < span.since:
        return Finding(
            number, span.name, f"Slurm {of} does not know it{where}: since {span.since}{mend}", fatal=True
        )
    if not span.covers(of):
        return Finding(
            number, span.name, f"gone: {span.until} was the last to take it{where}{mend}", fatal=True
        )
    if span.is_defunct(of):
        what = f"does nothing since {span.defunct}, and each start logs an error{mend}"
        return Finding(number, span.name, what, fatal=False)
    return None


def _words(number: int, key: str, value: str, of: str) -> Iterator[Finding]:
    """Words of the value that the release lacks; a word that no table names passes."""
    words = known_words(key)
    for word in value.split(",") if words else ():
        plain = re.split(r"[=:]", word.strip())[0].lower()
        span = words.get(plain) or next(
            (one for name, one in words.items() if name.endswith(f"/{plain}")), None
        )
        found = _judge_span(number, span, of, f" in {key}") if span else None
        if found:
            yield found
