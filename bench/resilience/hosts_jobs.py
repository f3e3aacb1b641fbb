"""One training on the lab's hosts, as a job of Slurm, and what it has said so far."""

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
    """One training on the lab."""

    def __init__(self, place: Place, system: System, shape: str) -> None:
        self.place, self.system, self.shape = place, system, shape
        self.bench = place.new_folder("training")
        super().__init__(place.here(self.bench))
        self.hosts_of_job = 3 if shape == "spare" else 2
        self.name, self.run = system.submit(self)

    def events(self, kind: str, since: float = 0.0) -> list[Event]:
        """What our own launcher wrote, by time; nothing by another."""
        if not self.run:
            return []
        found = events(self.run, LocalReader())
        return [each for each in found if each["event"] == kind and each["time"] > since]

    def job(self) -> str:
        """The job of it that runs; empty when none does."""
        return self.place.control(
            f"squeue --noheader --name={self.name} --states=running --format=%i"
        ).strip()

    def over(self) -> bool:
        """No job of it is in Slurm any more."""
        return not self.place.control(f"squeue --noheader --name={self.name} --format=%i").strip()

    def until(self, seen: Callable[[], Any], limit_s: float) -> Any:
        """What `seen` returns, once it is something; None when it is not within the limit, or all is over."""
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
        """Both ranks train, and every host that we hold ready is."""
        waiting = self.hosts_of_job if self.system.warm else 0
        return len({each["host"] for each in self.of("step")}) == 2 and (
            len({each["host"] for each in self.events("standby")}) >= waiting
        )

    def last_words(self) -> str:
        """The last error that was said, or else the last line."""
        paths = Path(self.run.folder).glob("slurm-*.out") if self.run else self.folder.glob("out")
        lines = [line for path in paths for line in path.read_text(errors="replace").strip().splitlines()]
        said = [each for each in lines if "Error" in each] or lines
        return said[-1][-300:] if said else ""

    def end(self) -> None:
        """Nothing of it runs any more."""
        mark = f"touch {self.place.shared}/runs/{self.name}/cancelled; " if self.run else ""
        self.place.control(
            f"{mark}scancel --name={self.name}; scancel --signal=KILL --name={self.name}; true"
        )
