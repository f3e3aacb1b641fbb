"""How this run's ranks share what they learn: in each step, or now and then; and what of it a resume needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.runtime.events import Events
from clusterwright.runtime.exposed import Exposed
from clusterwright.runtime.gradients import hooks
from clusterwright.runtime.gradients import told as of_gradients
from clusterwright.runtime.gradients.power import Power
from clusterwright.runtime.gradients.rounded import Rounded
from clusterwright.runtime.outer import told as of_outer
from clusterwright.runtime.outer.outer import Outer
from clusterwright.runtime.services import buckets
from clusterwright.runtime.tracked import Tracked

OUTER = "outer"  # outer steps are saved beside what the script tracks, under this name


class Reduction:
    """One for a run. All ranks call the same things at the same steps."""

    def __init__(self, tracked: Tracked, log: Events, environ: Mapping[str, str], *, scaled: bool) -> None:
        self._tracked, self._log = tracked, log
        self._told, outer = of_gradients.read(environ), of_outer.read(environ)
        if scaled and self._told.compress in ("int8", "power"):
            raise ValueError(
                f"gradients: compress: {self._told.compress} keeps what it has not sent, in units that the scaler of"
                " fp16 changes; take bf16"
            )
        self._kept: dict[str, Power | Rounded] = {}
        self._outer: Outer | None = None
        self._until: int | None = None
        hooks.buckets(self._told)
        if outer:
            self._outer = Outer(outer)
            tracked.add_parting(**{OUTER: self._outer})

    @property
    def parts(self) -> bool:
        """Whether ranks have weights of their own between two meetings."""
        return self._outer is not None

    def add(self, name: str, each: Any) -> None:
        """A model that is tracked gets its way of adding up, once, and its layout for good."""
        if self._outer:
            self._outer.add(name, each)
        elif kept := hooks.attach(each, self._told):
            self._kept[name] = kept
        buckets.settle(each)

    def begin(self, completed: int, until: int | None, local: Mapping[str, Any] | None) -> None:
        """The first step comes; `local` is what this rank saved, None where there is nothing of it."""
        self._until = until
        for name, each in self._kept.items():
            each.put_back(completed, (local or {}).get("gradients", {}).get(name))
        if self._outer:
            own = (local or {}).get(OUTER, {})
            self._tracked.put_back(own)
            self._outer.begin(completed)
        if completed and local is None and (self._kept or self._outer):
            self._log.say(self._lost(completed))

    def stepped(self, completed: int, exposed: Exposed) -> None:
        """An optimiser step is complete; where ranks meet, they wait for each other."""
        if self._outer:
            exposed.ready()
            self._outer.stepped(completed, last=completed == self._until)
            exposed.done()

    def local(self) -> dict[str, Any]:
        """What is this rank's own."""
        found: dict[str, Any] = {}
        if self._kept:
            found["gradients"] = {name: each.state() for name, each in self._kept.items()}
        if self._outer:
            found[OUTER] = self._tracked.own()
        return found

    def _lost(self, completed: int) -> str:
        what = "all go on with rank 0's weights" if self._outer else "what gradients had left to send is lost"
        return f"step {completed} was saved by another number of ranks: {what}"
