"""Rank diagnoses by the observations in logs; pure."""

from clusterwright.diagnose.judge.judge import judge
from clusterwright.diagnose.judge.sighting import Observations, Position, Sighting, Witnessed

__all__ = ["Observations", "Position", "Sighting", "Witnessed", "judge"]
