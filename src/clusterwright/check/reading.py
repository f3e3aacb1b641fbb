"""From the wanted facts to what the reader on a host is asked, and from its answer to typed values; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any

from clusterwright.check.fact import Fact, HostSpec, Missing
from clusterwright.edge.bundler import probe
from clusterwright.i18n import N_, _

MARKER = "@clusterwright-facts "  # as in probes/reader.py
DEADLINE_S = 130.0  # ours: the slowest fact, importing torch, has 120 s; the others are asked before it


@dataclass(frozen=True, slots=True)
class Reach:
    """How a host was reached: not at all (`error`), in vain (`fault`: no reader ran), or with which Python.

    `requested_at` and `answered` are this machine's clock, `began` and `ended` the host's; seconds since the epoch.
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
    """What one host said: a value or a Missing for every fact it was asked."""

    reach: Reach
    facts: Mapping[str, Any] = field(default_factory=dict)

    def fact_value(self, fact: Fact[Any]) -> Any:
        """The value of a fact, or why it is missing."""
        if fact is reached:
            return self.reach
        if self.reach.error:
            return Missing(_("the host was not reached: {error}", error=self.reach.error))
        if self.reach.fault:
            return Missing(_("nothing can be asked there: {fault}", fault=self.reach.fault))
        return self.facts.get(fact.id, Missing(_("the host was not asked")))


def _parse_reached(_text: str) -> Reach:
    raise AssertionError(_("the runner knows it without asking"))


reached: Fact[Reach] = Fact(
    "reached", N_("Whether and how fast the host answers over SSH."), lambda _spec: (), _parse_reached
)


def request(facts: Iterable[Fact[Any]], spec: HostSpec, earlier: Mapping[str, Any]) -> bytes:
    """What the reader on the host is asked, as it reads it."""
    quick_first = sorted(
        facts, key=lambda fact: fact.limit_s
    )  # importing torch would slow all the others down
    items = [_item(fact, spec, earlier) for fact in quick_first]
    return json.dumps({"deadline_s": DEADLINE_S, "facts": items}).encode()


def _item(fact: Fact[Any], spec: HostSpec, earlier: Mapping[str, Any]) -> dict[str, Any]:
    argv = [*(("python3", "-I", "-S", "-c", probe(fact.probe)) if fact.probe else ()), *fact.argv(spec)]
    stdin = json.dumps(earlier[fact.depends_on.id], default=_to_json) if fact.depends_on else ""
    return {"id": fact.id, "argv": argv, "limit_s": fact.limit_s, "stdin": stdin}


def _to_json(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def read(facts: Iterable[Fact[Any]], answer: Mapping[str, Any], spec: HostSpec) -> dict[str, Any]:
    """A value or a Missing for every fact, from the reader's answer."""
    return {fact.id: value_of(fact, answer["facts"].get(fact.id), _label(fact, spec)) for fact in facts}


def _label(fact: Fact[Any], spec: HostSpec) -> str:
    argv = list(fact.argv(spec))
    arguments = [fact.id] if fact.probe or argv[0] == "sh" else argv
    return " ".join(arguments[:3]) + (" ..." if len(arguments) > 3 else "")


def answer_of(out: str) -> dict[str, Any] | None:
    """The reader's answer in what a host printed; None when there is none, or not in its form."""
    line = next((line for line in out.splitlines() if line.startswith(MARKER)), "")
    try:
        document = json.loads(line[len(MARKER) :])
        ends = document["facts"].values()
        sound = all(isinstance(end[key], str) for end in ends for key in ("out", "err", "stopped"))
        times = {key: float(document[key]) for key in ("began", "ended")}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return {"python": str(document.get("python", "")), "facts": document["facts"], **times} if sound else None


def value_of(fact: Fact[Any], end: Mapping[str, Any] | None, label: str) -> Any:
    """What the parser makes of how a command ended, or why it cannot."""
    if end is None:
        return Missing(_("`{label}` gave no answer in {deadline_s:g} s", label=label, deadline_s=DEADLINE_S))
    survivor_note = _(", and still was there 2 s after it was killed") if end.get(_("survived")) else ""
    if end["stopped"] == "overran":
        return Missing(
            _(
                "`{label}` overran its {limit_s:g} s{survivor_note}",
                label=label,
                limit_s=fact.limit_s,
                survivor_note=survivor_note,
            )
        )
    if end["stopped"]:
        return Missing(
            _(
                "`{label}` could not be run: {end}{survivor_note}",
                label=label,
                end=end["stopped"],
                survivor_note=survivor_note,
            )
        )
    if end["code"] not in fact.codes:
        return Missing(
            _(
                "`{label}` returned {end}: {last_line}",
                label=label,
                end=end["code"],
                last_line=_last_line(end),
            )
        )
    try:
        return fact.parse(end["out"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Missing(
            _("`{label}` printed what cannot be read: {last_line}", label=label, last_line=_last_line(end))
        )


def _last_line(end: Mapping[str, Any]) -> str:
    text = end["err"].strip() or end["out"].strip()
    return str(text.splitlines()[-1][:200]) if text else "(nothing)"
