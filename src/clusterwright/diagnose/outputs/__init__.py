"""Read what commands print about a host, a job or a network: findings as lines of kind `output`, and normal values.

A tool is one file in `tools/`; what is a fault, its cause and its fix are failure modes like all others.
"""

from clusterwright.diagnose.outputs.observe import observe
from clusterwright.diagnose.outputs.value import Finding, Normal, Row

__all__ = ["Finding", "Normal", "Row", "observe"]
