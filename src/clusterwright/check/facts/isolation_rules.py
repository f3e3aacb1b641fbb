"""The loaded nftables rules that keep users apart."""

from __future__ import annotations

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.safe_reader import parse_document

_TABLE = "clusterwright_users"


@fact("nft", "--json", "list", "ruleset", permission="root")
def isolation_rules(out: str) -> tuple[str, ...]:
    """The chains with rules of the table `clusterwright_users`, which the output hook or another chain jumps to."""
    rules = [entry["rule"] for entry in parse_document(out)["nftables"] if "rule" in entry]
    return tuple(sorted({rule["chain"] for rule in rules if rule["table"] == _TABLE}))
