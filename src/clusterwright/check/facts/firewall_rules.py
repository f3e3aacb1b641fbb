"""The loaded nftables rules for incoming packets."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.safe_reader import parse_document

_REFUSES = ("drop", "reject")


@dataclass(frozen=True, slots=True)
class Chain:
    """One chain on the input hook.

    `policy` is the verdict on a packet that no rule matches: `accept`, `drop` or `reject`.
    """

    table: str
    policy: str
    rules: int


@fact("nft", "--json", "list", "ruleset", permission="root")
def firewall_rules(out: str) -> tuple[Chain, ...]:
    """The nftables chains on the input hook, with their policy and number of rules."""
    entries = parse_document(out)["nftables"]
    rules = [entry["rule"] for entry in entries if "rule" in entry]
    chains = [entry["chain"] for entry in entries if entry.get("chain", {}).get("hook") == "input"]
    input_chains = []
    for chain in chains:
        chain_rules = [
            rule for rule in rules if (rule["table"], rule["chain"]) == (chain["table"], chain["name"])
        ]
        input_chains.append(
            Chain(
                chain["table"],
                _effective_policy(chain.get("policy", "accept"), chain_rules),
                len(chain_rules),
            )
        )
    return tuple(input_chains)


def _effective_policy(policy: str, rules: list[dict[str, list[dict[str, object]]]]) -> str:
    """Return `drop` or `reject` if the last rule does only that (firewalld ends its chain so), else the policy."""
    last = rules[-1]["expr"] if rules else []
    statements = [statement for expression in last for statement in expression]
    return statements[0] if len(statements) == 1 and statements[0] in _REFUSES else policy
