"""Peak memory of the fullest GPU."""

from __future__ import annotations

from clusterwright.plan.memory.peak import peak, peak_bytes, stages
from clusterwright.plan.memory.remedies import Remedy, ladder
from clusterwright.plan.memory.reported import Definition, reported
from clusterwright.plan.memory.verdict import Fit, fits

__all__ = ["Definition", "Fit", "Remedy", "fits", "ladder", "peak", "peak_bytes", "reported", "stages"]
