"""Peak memory of the fullest GPU."""

from __future__ import annotations

from clusterwright.plan.memory.peak import Definition, Fit, fits, peak, peak_bytes, reported, stages
from clusterwright.plan.memory.remedies import Remedy, ladder

__all__ = ["Definition", "Fit", "Remedy", "fits", "ladder", "peak", "peak_bytes", "reported", "stages"]
