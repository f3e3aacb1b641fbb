"""Why a host takes no jobs, or is slow."""

from clusterwright.diagnose.node.explain import Node, explain

__all__ = ["Node", "explain"]
