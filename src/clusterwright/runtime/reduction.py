"""The run's reduction of gradients: in each step or in outer steps (DiLoCo), compressed or not, and its saved state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.runtime.events import Events
from clusterwright.runtime.exposed import Exposed
from clusterwright.runtime.gradients import hooks
from clusterwright.runtime.gradients import settings as of_gradients
from clusterwright.runtime.gradients.power import Power
from clusterwright.runtime.gradients.rounded import Rounded
from clusterwright.runtime.outer import settings as of_outer
from clusterwright.runtime.outer.outer import Outer
from clusterwright.runtime.services import buckets
from clusterwright.runtime.tracked import Tracked

OUTER = "outer"  # name of the outer steps' state among the tracked objects


class Reduction:
    """Sets up how gradients of tracked models are reduced. All ranks call the same methods at the same steps."""

    def __init__(self, tracked: Tracked, log: Events, environ: Mapping[str, str], *, scaled: bool) -> None:
        self._tracked, self._log = tracked, log
        self._settings, outer = of_gradients.read(environ), of_outer.read(environ)
        if scaled and self._settings.compress in ("int8", "power"):
            raise ValueError(
                f"gradients: compress: {self._settings.compress} stores unsent gradients, which the scaler of fp16"
                " rescales; fix: use precision bf16"
            )
        self._stateful_hooks: dict[str, Power | Rounded] = {}
        self._outer: Outer | None = None
        self._total_steps: int | None = None
        hooks.buckets(self._settings)
        if outer:
            self._outer = Outer(outer)
            tracked.add_parting(**{OUTER: self._outer})

    @property
    def parts(self) -> bool:
        """Return True if ranks have different weights between two outer steps: outer steps are on."""
        return self._outer is not None

    def add(self, name: str, item: Any) -> None:
        """Attach the gradient reduction of the settings to a tracked model, once, and fix its bucket layout."""
        if self._outer:
            self._outer.add(name, item)
        elif hook := hooks.attach(item, self._settings):
            self._stateful_hooks[name] = hook
        buckets.settle(item)

    def begin(self, completed: int, total_steps: int | None, local: Mapping[str, Any] | None) -> None:
        """Load the gradient reduction's state before the first step; `local` is what this rank saved, or None.

        A resume without this state is logged.
        """
        self._total_steps = total_steps
        for name, hook in self._stateful_hooks.items():
            hook.load_state(completed, (local or {}).get("gradients", {}).get(name))
        if self._outer:
            outer_state = (local or {}).get(OUTER, {})
            self._tracked.load_local_state(outer_state)
            self._outer.begin(completed)
        if completed and local is None and (self._stateful_hooks or self._outer):
            self._log.log_line(self._describe_lost_state(completed))

    def stepped(self, completed: int, exposed: Exposed) -> None:
        """Run an outer step if one is due after this optimizer step; its time counts as exposed communication."""
        if self._outer:
            exposed.ready()
            self._outer.stepped(completed, last=completed == self._total_steps)
            exposed.complete()

    def local(self) -> dict[str, Any]:
        """Return the reduction's state that belongs to this rank alone: residuals, or what outer steps leave local."""
        state: dict[str, Any] = {}
        if self._stateful_hooks:
            state["gradients"] = {name: hook.state() for name, hook in self._stateful_hooks.items()}
        if self._outer:
            state[OUTER] = self._tracked.local_state()
        return state

    def _describe_lost_state(self, completed: int) -> str:
        effect = "all ranks continue with rank 0's weights" if self._outer else "unsent gradients are lost"
        return f"step {completed} was saved by a different number of ranks: {effect}"
