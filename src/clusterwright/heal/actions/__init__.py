"""Actions: one module per action, named after it with - as _; adding a file adds an action.

Each module has `prepare(order, executor)`, which returns the prior state to store with the intent, or None if the
action must not run; `execute(order, prior, executor)`, which acts only if that state is unchanged, and returns the
error or an empty text; and `happened(order, prior, executor)`: whether the action took effect, None if unknown. `UNDO`
is the command that undoes the action, and `undo(order, executor)` runs it where possible. `COST` is its effect on
jobs.
"""

from clusterwright.heal.actions.executor import ActionOrder, Executor
from clusterwright.heal.actions.registry import action

__all__ = ["ActionOrder", "Executor", "action"]
