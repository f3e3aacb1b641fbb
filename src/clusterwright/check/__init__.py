"""Checks of the hosts of a cluster: facts are read once per host, each check judges them and returns verdicts."""

from clusterwright.check.runner import run
from clusterwright.check.verdict import Status, Verdict

__all__ = ["Status", "Verdict", "run"]
