"""Proof, node by node: facts read once per host, one expectation per file, a Verdict each."""

from clusterwright.check.runner import run
from clusterwright.check.verdict import Status, Verdict

__all__ = ["Status", "Verdict", "run"]
