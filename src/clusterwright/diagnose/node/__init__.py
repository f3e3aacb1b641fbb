"""Explain why no job can start on a node, or why it is slow."""

from clusterwright.diagnose.node.explain import NodeExplanation, explain

__all__ = ["NodeExplanation", "explain"]
