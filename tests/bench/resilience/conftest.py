"""The scripts of bench/resilience import each other by name, as they do when they run."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "bench" / "resilience"))


@pytest.fixture
def line():
    """Makes a raw line."""

    def made(experiment="kill", system="ours", total=None, **more):
        seconds = {} if total is None else {"total": total}
        return {
            "experiment": experiment, "system": system, "flags": "best", "case": "rank", "seed": 1, "outcome": "ok",
            "seconds": seconds, "figures": {}, "load": 0.2, "versions": {"cpus": "2", "python": "3.11", "torch": "2"},
            "time": 1_795_000_000.0, **more,
        }  # fmt: skip

    return made
