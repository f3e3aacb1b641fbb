"""What to do next, from what is seen, what was done, what the file allows, and the rules; pure."""

from clusterwright.heal.decide.decide import Decision, decide

__all__ = ["Decision", "decide"]
