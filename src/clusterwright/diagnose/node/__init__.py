"""Why a host takes no jobs, or is slow."""

from clusterwright.diagnose.node.explain import NodeExplanation, explain

__all__ = ["NodeExplanation", "explain"]
