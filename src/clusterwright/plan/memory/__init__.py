"""Peak memory of the fullest GPU."""

from __future__ import annotations

from clusterwright.plan.memory.peak import peak, stages

__all__ = ["peak", "stages"]
