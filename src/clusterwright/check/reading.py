"""From the wanted facts to what the reader on a host is asked, and from its answer to typed values; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any

from clusterwright.check.fact import Fact, Missing, Want
from clusterwright.edge.bundler import probe

MARK = "@clusterwright-facts "  # as in probes/reader.py
DEADLINE_S = 130.0  # ours: the slowest fact, importing torch, has 120 s; the others are asked before it


@dataclass(frozen=True, slots=True)
class Reach:
    """How a host was reached: not at all (`error`), in vain (`fault`: no reader ran), or with which Python.

    `asked` and `answered` are this machine's clock, `began` and `ended` the host's; seconds since the epoch.
    """

    error: str = ""
    fault: str = ""
    seconds: float = 0.0
    python: str = ""
    asked: float = 0.0
    began: float = 0.0
    ended: float = 0.0
    answered: float = 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What one host said: a value or a Missing for every fact it was asked."""

    reach: Reach
    facts: Mapping[str, Any] = field(default_factory=dict)

    def of(self, wanted: Fact[Any]) -> Any:
        """The value of a fact, or why it is missing."""
        if wanted is reached:
            return self.reach
        if self.reach.error:
            return Missing(f"the host was not reached: {self.reach.error}")
        if self.reach.fault:
            return Missing(f"nothing can be asked there: {self.reach.fault}")
        return self.facts.get(wanted.id, Missing("the host was not asked"))


def _never(_text: str) -> Reach:
    raise AssertionError("the runner knows it without asking")


reached: Fact[Reach] = Fact(
    "reached", "Whether and how fast the host answers over SSH.", lambda _want: (), _never
)


def request(facts: Iterable[Fact[Any]], want: Want, earlier: Mapping[str, Any]) -> bytes:
    """What the reader on the host is asked, as it reads it."""
    quick_first = sorted(
        facts, key=lambda each: each.limit_s
    )  # importing torch would slow all the others down
    items = [_item(each, want, earlier) for each in quick_first]
    return json.dumps({"deadline_s": DEADLINE_S, "facts": items}).encode()


def _item(each: Fact[Any], want: Want, earlier: Mapping[str, Any]) -> dict[str, Any]:
    argv = [*(("python3", "-I", "-S", "-c", probe(each.probe)) if each.probe else ()), *each.argv(want)]
    stdin = json.dumps(earlier[each.after.id], default=_plain) if each.after else ""
    return {"id": each.id, "argv": argv, "limit_s": each.limit_s, "stdin": stdin}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def read(facts: Iterable[Fact[Any]], answer: Mapping[str, Any], want: Want) -> dict[str, Any]:
    """A value or a Missing for every fact, from the reader's answer."""
    return {each.id: value_of(each, answer["facts"].get(each.id), _label(each, want)) for each in facts}


def _label(each: Fact[Any], want: Want) -> str:
    argv = list(each.argv(want))
    words = [each.id] if each.probe or argv[0] == "sh" else argv
    return " ".join(words[:3]) + (" ..." if len(words) > 3 else "")


def answer_of(out: str) -> dict[str, Any] | None:
    """The reader's answer in what a host printed; None when there is none, or not in its form."""
    line = next((line for line in out.splitlines() if line.startswith(MARK)), "")
    try:
        found = json.loads(line[len(MARK) :])
        ends = found["facts"].values()
        sound = all(isinstance(end[key], str) for end in ends for key in ("out", "err", "stopped"))
        times = {key: float(found[key]) for key in ("began", "ended")}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return {"python": str(found.get("python", "")), "facts": found["facts"], **times} if sound else None


def value_of(each: Fact[Any], end: Mapping[str, Any] | None, label: str) -> Any:
    """What the parser makes of how a command ended, or why it cannot."""
    if end is None:
        return Missing(f"`{label}` gave no answer in {DEADLINE_S:g} s")
    still = ", and still was there 2 s after it was killed" if end.get("survived") else ""
    if end["stopped"] == "overran":
        return Missing(f"`{label}` overran its {each.limit_s:g} s{still}")
    if end["stopped"]:
        return Missing(f"`{label}` could not be run: {end['stopped']}{still}")
    if end["code"] not in each.codes:
        return Missing(f"`{label}` returned {end['code']}: {_words(end)}")
    try:
        return each.parse(end["out"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Missing(f"`{label}` printed what cannot be read: {_words(end)}")


def _words(end: Mapping[str, Any]) -> str:
    text = end["err"].strip() or end["out"].strip()
    return str(text.splitlines()[-1][:200]) if text else "(nothing)"
