"""Why a host takes no jobs, or is slow."""

from clusterwright.why.node.explain import Node, explain

__all__ = ["Node", "explain"]
