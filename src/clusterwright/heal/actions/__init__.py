"""Actions: one file each; a file dropped in is an action, called what the file is called, with - for _.

Each has `before(order, hands)`, what is true before it, kept with the intent, or None where it must not be done any
more; `act(order, hands)`, which does it only if that is still true, and returns why it failed, or nothing; and
`happened(order, before, hands)`: True, False, or None while that cannot be seen. `UNDO` is what takes it back, in
words, and `undo(order, hands)` takes it back where that can be done. `COST` is what it costs jobs.
"""

from clusterwright.heal.actions.executor import Executor, Order
from clusterwright.heal.actions.registry import action

__all__ = ["Executor", "Order", "action"]
