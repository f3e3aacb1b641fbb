"""All evidence in, ranked diagnoses out; pure."""

from clusterwright.diagnose.judge.judge import judge
from clusterwright.diagnose.judge.sighting import Known, Place, Sighting, Witnessed

__all__ = ["Known", "Place", "Sighting", "Witnessed", "judge"]
