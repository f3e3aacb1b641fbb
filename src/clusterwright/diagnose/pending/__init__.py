"""Explain why a job is pending, when it may start, and what lets it start; pure functions of Slurm's output."""

from clusterwright.diagnose.pending.explain import explain
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.waiting import StartCommand, Waiting

__all__ = ["Facts", "StartCommand", "Waiting", "explain"]
