"""Raw lines of the measurements of failures."""

import pytest


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
