"""Decide the next actions from the observation, the history, the policy and the rules; pure."""

from clusterwright.heal.decide.decide import Decision, decide

__all__ = ["Decision", "decide"]
