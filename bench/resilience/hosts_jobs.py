"""A training on the lab's hosts as a Slurm job, and its marks so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.resilience.hosts_lab import Place
from bench.resilience.said import Said
from clusterwright.launch.events import LocalReader, events

if TYPE_CHECKING:
    from bench.resilience.hosts_systems import System

Event = dict[str, Any]


class Training(Said):
    """One training on the lab: its Slurm job, marks and events."""

    def __init__(self, place: Place, system: System, shape: str) -> None:
        self.place, self.system, self.shape = place, system, shape
        self.bench = place.new_folder("training")
        super().__init__(place.here(self.bench))
        self.hosts_of_job = 3 if shape == "spare" else 2
        self.name, self.run = system.submit(self)

    def events(self, kind: str, since: float = 0.0) -> list[Event]:
        """Return the events of our launcher of a kind, by time; other launchers have none."""
        if not self.run:
            return []
        found = events(self.run, LocalReader())
        return [each for each in found if each["event"] == kind and each["time"] > since]

    def job(self) -> str:
        """Return the id of its running job; empty if none runs."""
        return self.place.control(
            f"squeue --noheader --name={self.name} --states=running --format=%i"
        ).strip()

    def over(self) -> bool:
        """Return whether Slurm has no job of the training any more."""
        return not self.place.control(f"squeue --noheader --name={self.name} --format=%i").strip()

    def until(self, seen: Callable[[], Any], limit_s: float) -> Any:
        """Poll `seen` until it returns a true value, and return that; None after the limit or the training's end."""
        end, looked = time.monotonic() + limit_s, time.monotonic()
        while time.monotonic() < end:
            self.take_in()
            if found := seen():
                return found
            if time.monotonic() - looked > 2:
                looked = time.monotonic()
                if self.over():
                    return None
            time.sleep(0.05)
        return None

    def ready(self) -> bool:
        """Return whether both ranks train and all standby hosts are ready."""
        waiting = self.hosts_of_job if self.system.warm else 0
        return len({each["host"] for each in self.of("step")}) == 2 and (
            len({each["host"] for each in self.events("standby")}) >= waiting
        )

    def last_words(self) -> str:
        """Return the last error in the log, or else its last line."""
        paths = Path(self.run.folder).glob("slurm-*.out") if self.run else self.folder.glob("out")
        lines = [line for path in paths for line in path.read_text(errors="replace").strip().splitlines()]
        said = [each for each in lines if "Error" in each] or lines
        return said[-1][-300:] if said else ""

    def end(self) -> None:
        """Cancel its jobs and end all its processes."""
        mark = f"touch {self.place.shared}/runs/{self.name}/cancelled; " if self.run else ""
        self.place.control(
            f"{mark}scancel --name={self.name}; scancel --signal=KILL --name={self.name}; true"
        )
