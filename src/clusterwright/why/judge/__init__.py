"""All evidence in, ranked diagnoses out; pure."""

from clusterwright.why.judge.judge import judge
from clusterwright.why.judge.sighting import Known, Place, Sighting, Witnessed

__all__ = ["Known", "Place", "Sighting", "Witnessed", "judge"]
