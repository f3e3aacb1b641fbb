"""Requests to the fact reader on a host, and the parsing of its response into typed values; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any

from clusterwright.check.fact import Fact, HostSpec, Missing
from clusterwright.edge.bundler import probe
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS, parse_document

MARKER = "@clusterwright-facts "  # as in probes/reader.py
DEADLINE_S = 130.0  # ours: the slowest fact, importing torch, has 120 s; the others are read before it


@dataclass(frozen=True, slots=True)
class HostReach:
    """How the SSH call to a host ended: `error` (no connection), `fault` (reader did not run), or its Python version.

    `requested_at` and `answered` are by the operator's clock, `began` and `ended` by the host's; Unix time.
    """

    error: str = ""
    fault: str = ""
    seconds: float = 0.0
    python: str = ""
    requested_at: float = 0.0
    began: float = 0.0
    ended: float = 0.0
    answered: float = 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """The facts read on one host: a value or a Missing for each."""

    reach: HostReach
    facts: Mapping[str, Any] = field(default_factory=dict)

    def fact_value(self, fact: Fact[Any]) -> Any:
        """Return the value of a fact, or a Missing with the reason."""
        if fact is reached:
            return self.reach
        if self.reach.error:
            return Missing(_("no SSH connection to the host: {error}", error=self.reach.error))
        if self.reach.fault:
            return Missing(_("the fact reader did not run on the host: {fault}", fault=self.reach.fault))
        return self.facts.get(fact.id, Missing(_("this fact was not read on the host")))


def _parse_reached(_text: str) -> HostReach:
    raise AssertionError("the runner sets this fact itself")


reached: Fact[HostReach] = Fact(
    "reached", "Whether the host answers over SSH, and how fast.", lambda _spec: (), _parse_reached
)


def request(facts: Iterable[Fact[Any]], spec: HostSpec, earlier: Mapping[str, Any]) -> bytes:
    """Return the request for the fact reader, as JSON; arguments as for `request_document`."""
    return json.dumps(request_document(facts, spec, earlier)).encode()


def request_document(
    facts: Iterable[Fact[Any]], spec: HostSpec, earlier: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the request for the fact reader; importing torch, which slows the others, comes last.

    `earlier`: for facts that compare hosts, the values of all hosts by fact and host.
    """
    quick_first = sorted(facts, key=lambda fact: fact.limit_s)
    items = [_item(fact, spec, earlier) for fact in quick_first]
    return {"deadline_s": DEADLINE_S, "facts": items}


def _item(fact: Fact[Any], spec: HostSpec, earlier: Mapping[str, Any]) -> dict[str, Any]:
    argv = [*(("python3", "-I", "-S", "-c", probe(fact.probe)) if fact.probe else ()), *fact.argv(spec)]
    stdin = json.dumps(earlier[fact.depends_on.id], default=_to_json) if fact.depends_on else ""
    return {"id": fact.id, "argv": argv, "limit_s": fact.limit_s, "stdin": stdin}


def _to_json(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def read(facts: Iterable[Fact[Any]], answer: Mapping[str, Any], spec: HostSpec) -> dict[str, Any]:
    """Return the value of every fact, parsed from the reader program's answer; a Missing where it has none."""
    return {fact.id: value_of(fact, answer["facts"].get(fact.id), _label(fact, spec)) for fact in facts}


def _label(fact: Fact[Any], spec: HostSpec) -> str:
    argv = list(fact.argv(spec))
    arguments = [fact.id] if fact.probe or argv[0] == "sh" else argv
    return " ".join(arguments[:3]) + (" ..." if len(arguments) > 3 else "")


def answer_of(out: str) -> dict[str, Any] | None:
    """Find the reader's response in a host's output; None if there is none, or a malformed one."""
    line = next((line for line in out.splitlines() if line.startswith(MARKER)), "")
    try:
        document = parse_document(line[len(MARKER) :])
        ends = document["facts"].values()
        sound = all(isinstance(end[key], str) for end in ends for key in ("out", "err", "stopped"))
        times = {key: float(document[key]) for key in ("began", "ended")}
    except DATA_ERRORS:
        return None
    return {"python": str(document.get("python", "")), "facts": document["facts"], **times} if sound else None


def value_of(fact: Fact[Any], end: Mapping[str, Any] | None, label: str) -> Any:
    """Parse the output of one command; a Missing if it timed out, failed or printed something else."""
    if end is None:
        return Missing(_("`{label}` did not run within {deadline_s:g} s", label=label, deadline_s=DEADLINE_S))
    survivor_note = _("; the process still exists 2 s after SIGKILL") if end.get("survived") else ""
    if end["stopped"] == "overran":
        return Missing(
            _(
                "`{label}` exceeded its time limit of {limit_s:g} s{survivor_note}",
                label=label,
                limit_s=fact.limit_s,
                survivor_note=survivor_note,
            )
        )
    if end["stopped"]:
        return Missing(
            _(
                "`{label}` could not run: {reason}{survivor_note}",
                label=label,
                reason=end["stopped"],
                survivor_note=survivor_note,
            )
        )
    if end["code"] not in fact.codes:
        return Missing(
            _(
                "`{label}` exited with code {code}: {last_line}",
                label=label,
                code=end["code"],
                last_line=_last_line(end),
            )
        )
    try:
        return fact.parse(end["out"])
    except DATA_ERRORS:
        return Missing(
            _("`{label}` printed unexpected output: {last_line}", label=label, last_line=_last_line(end))
        )


def _last_line(end: Mapping[str, Any]) -> str:
    text = end["err"].strip() or end["out"].strip()
    return str(text.splitlines()[-1][:200]) if text else _("(no output)")
