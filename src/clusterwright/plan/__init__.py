"""The planner: hardware to buy, parallel layouts, cost, memory and speed of trainings. No input or output.

`training` and `machine` return the inputs of `search` (the fastest layout) and `fabric` (networks); `size` finds the
fewest GPUs for a deadline, and `cost` compares owning and renting. The modules of these functions import the rest
of the package when a function is called.
"""

from clusterwright.plan.cost.cost import cost
from clusterwright.plan.fabric.fabric import fabric
from clusterwright.plan.inputs import machine, training
from clusterwright.plan.search.fastest import search
from clusterwright.plan.sizing.size import size

__all__ = ["cost", "fabric", "machine", "search", "size", "training"]
