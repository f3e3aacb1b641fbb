"""The loaded firewall rules."""

from __future__ import annotations

import json
from dataclasses import dataclass

from clusterwright.check.fact import fact

_REFUSES = ("drop", "reject")


@dataclass(frozen=True, slots=True)
class Chain:
    """One chain that sees packets for the host itself.

    `rest` is what becomes of a packet that no rule of it names: `accept`, `drop` or `reject`.
    """

    table: str
    rest: str
    rules: int


@fact("nft", "--json", "list", "ruleset")
def firewall_rules(out: str) -> tuple[Chain, ...]:
    """The nftables chains on the input hook that filter; says nothing of what the rules let through (see ports)."""
    entries = json.loads(out)["nftables"]
    rules = [each["rule"] for each in entries if "rule" in each]
    chains = [each["chain"] for each in entries if each.get("chain", {}).get("hook") == "input"]
    found = []
    for chain in chains:
        own = [each for each in rules if (each["table"], each["chain"]) == (chain["table"], chain["name"])]
        found.append(Chain(chain["table"], _rest(chain.get("policy", "accept"), own), len(own)))
    return tuple(found)


def _rest(policy: str, rules: list[dict[str, list[dict[str, object]]]]) -> str:
    """Firewalld leaves the policy as it is, and ends its chain with a rule that refuses all that is left."""
    last = rules[-1]["expr"] if rules else []
    words = [word for each in last for word in each]
    return words[0] if len(words) == 1 and words[0] in _REFUSES else policy
