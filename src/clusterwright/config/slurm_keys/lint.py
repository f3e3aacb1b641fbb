"""A linter for Slurm's files: an unknown key ends Slurm's daemons at start.

It checks keys, and words of values that releases added or removed; config/slurm_rules checks other values and
combinations, and the real daemon is started with the file (roles/slurm).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.config.slurm_keys.table import Span, key_spans, line_keys, value_spans
from clusterwright.errors import closest_name
from clusterwright.i18n import N_, _
from clusterwright.slurm.conf_files import ConfLine, conf_lines

_KMEM = N_("remove this key: Slurm no longer constrains kernel memory")
_REMOVE, _TIMEOUT = N_("remove this key"), N_("use PrologEpilogTimeout, for both prolog and epilog")
NOT_A_PAIR = N_("the line is not KEY=VALUE")
# The fix for a removed key or word, from the release notes of the release that removed it.
REPLACED = {
    "accountingstorageloc": N_(
        "set the database in slurmdbd.conf, and the file of completed jobs as JobCompLoc"
    ),
    "accountingstorageuser": N_("remove this key: it had no effect; slurmdbd.conf has StorageUser"),
    "allowedkmemspace": _KMEM,
    "blocklevels": N_("use BlockSizes, in hosts"),
    "blocksizes": N_("use BlockLevels, in powers of two of the first block"),
    "cgroupautomount": N_("remove this key: Slurm uses mounted control groups"),
    "cgroupreleaseagentdir": _REMOVE,
    "constrainkmemspace": _KMEM,
    "corespecplugin": _REMOVE,
    "epilogtimeout": _TIMEOUT,
    "maxkmempercent": _KMEM,
    "memlimitenforce": N_("use JobAcctGatherParams=OverMemoryKill, or ConstrainRAMSpace in cgroup.conf"),
    "minkmemspace": _KMEM,
    "namespacetype": N_("use JobContainerType"),
    "preemptparameters": N_("use SchedulerParameters, with the prefix preempt_"),
    "prologtimeout": _TIMEOUT,
    "routeplugin": N_("use TopologyParam=RouteTree"),
    "select/cons_res": N_("use select/cons_tres"),
    "job_container/tmpfs": N_("use NamespaceType=namespace/tmpfs"),
    "route/topology": N_("use TopologyParam=RouteTree"),
    "topology/3d_torus": N_("use topology/torus3d, from 26.05 on"),
    "topology/default": N_("use topology/flat"),
}


@dataclass(frozen=True, slots=True)
class KeyFinding:
    """A key or word that a release does not support: its line, its name, and the problem."""

    line: int
    key: str
    message: str
    fatal: bool

    def __str__(self) -> str:
        return _("line {line}: {key}: {message}", line=self.line, key=self.key, message=self.message)


def lint(text: str, file: str, slurm_release: str) -> tuple[KeyFinding, ...]:
    """Return findings about slurm.conf, cgroup.conf, gres.conf, topology.conf or slurmdbd.conf for a release.

    `file` is the name of the file; one without a table of keys (plugstack.conf, topology.yaml) has no findings.
    """
    if not key_spans(file):
        return ()
    return tuple(finding for line in conf_lines(text) for finding in _check_line(line, file, slurm_release))


def _check_line(line: ConfLine, file: str, slurm_release: str) -> Iterator[KeyFinding]:
    number, pairs = line.number, line.pairs
    if line.include:
        return
    if line.leading_token and not pairs:
        yield KeyFinding(number, line.leading_token, _(NOT_A_PAIR), fatal=True)
    kind = _kind_of_line(pairs[0][0].lower(), file) if pairs else ""
    for index, (key, value) in enumerate(pairs):
        keys = key_spans(file, _spelled(file, kind)) if kind and index else key_spans(file)
        finding = _judge(number, key, keys, slurm_release, pairs[0][0] if kind and index else "")
        if finding:
            yield finding
        else:
            yield from _check_values(number, key, value, slurm_release)


def _kind_of_line(first_key: str, file: str) -> str:
    """Return the first key of a line, in lower case, if it decides which keys the line may have, else "".

    Of an unknown key, the closest that decides: so a misspelled PartitionName is one finding, and not also one for each
    key of its line.
    """
    kinds = line_keys(file)
    if first_key in kinds or first_key in key_spans(file):
        return first_key if first_key in kinds else ""
    return closest_name(first_key, kinds) or ""


def _spelled(file: str, kind: str) -> str:
    return key_spans(file)[kind].name


def _judge(
    number: int, key: str, keys: dict[str, Span], slurm_release: str, context: str
) -> KeyFinding | None:
    """Return the finding about a key, if the release does not have it or it has no effect, else None.

    `context` is its line's first key if that decides the valid keys. An unknown key is fatal.
    """
    span = keys.get(key.lower())
    if span is not None:
        return _judge_span(number, span, slurm_release, context)
    message = _in_context(_("no release of Slurm has this key"), context)
    valid_names = [candidate.name for candidate in keys.values() if candidate.covers(slurm_release)]
    if suggestion := closest_name(key, valid_names):
        message = _("{message}; did you mean {suggestion}?", message=message, suggestion=suggestion)
    return KeyFinding(number, key, message, fatal=True)


def _judge_span(number: int, span: Span, slurm_release: str, context: str = "") -> KeyFinding | None:
    """Return the finding about a key or word that only other releases support, or that has no effect; else None.

    Only the former is fatal.
    """
    if slurm_release < span.first_release:
        values = {"release": slurm_release, "first": span.first_release}
        message = _("Slurm {release} does not support it: Slurm {first} added it", **values)
    elif not span.covers(slurm_release):
        message = _("Slurm removed it after {last}", last=span.last_release)
    elif span.is_defunct(slurm_release):
        message = _(
            "it has no effect since Slurm {release}, and each start logs an error", release=span.defunct
        )
    else:
        return None
    message, fix = _in_context(message, context), REPLACED.get(span.name.lower(), "")
    if fix:
        message = _("{message}; {fix}", message=message, fix=_(fix))
    return KeyFinding(number, span.name, message, fatal=not span.covers(slurm_release))


def _in_context(message: str, context: str) -> str:
    return _("{message} (in {context})", message=message, context=context) if context else message


def _check_values(number: int, key: str, value: str, slurm_release: str) -> Iterator[KeyFinding]:
    """Yield findings about words of the value that the release does not support; unknown words are accepted."""
    spans = value_spans(key)
    for token in value.split(",") if spans else ():
        keyword = re.split(r"[=:]", token.strip())[0].lower()
        span = spans.get(keyword) or next(
            (candidate for name, candidate in spans.items() if name.endswith(f"/{keyword}")), None
        )
        finding = _judge_span(number, span, slurm_release, key) if span else None
        if finding:
            yield finding
