"""The loaded firewall rules."""

from __future__ import annotations

import json
from dataclasses import dataclass

from clusterwright.check.fact import fact


@dataclass(frozen=True, slots=True)
class Chain:
    """One chain that sees packets for the host itself: its policy and how many rules it has."""

    table: str
    policy: str
    rules: int


@fact("nft", "--json", "list", "ruleset")
def firewall_rules(out: str) -> tuple[Chain, ...]:
    """The nftables chains on the input hook; says nothing of what the rules let through (see ports)."""
    entries = json.loads(out)["nftables"]
    rules = [(each["rule"]["table"], each["rule"]["chain"]) for each in entries if "rule" in each]
    chains = [each["chain"] for each in entries if each.get("chain", {}).get("hook") == "input"]
    return tuple(
        Chain(each["table"], each.get("policy", "accept"), rules.count((each["table"], each["name"])))
        for each in chains
    )
