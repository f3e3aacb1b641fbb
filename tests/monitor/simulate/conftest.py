"""Small clusters and jobs."""

import pytest

from clusterwright.monitor.simulate.settings import Account, HostKind, Queue, SimulationSettings
from clusterwright.monitor.simulate.trace import TraceJob


@pytest.fixture
def job():
    """`job("a", at=0, run=60, gpus=4)`: what is not said is small."""

    def make(name, *, at=0, run=60, team="a", user="u", **more):
        how = {"limit_s": more.pop("limit", run), "hosts": 1, "gpus": 1, "cpus": 1, **more}
        return TraceJob(name, team, user, at, run, **how)

    return make


@pytest.fixture
def settings():
    """`settings(hosts=2)`: hosts of four GPUs and eight CPUs, two teams."""

    def make(hosts=2, queue=None, **more):
        kinds = {"x": HostKind(tuple(f"h{number}" for number in range(hosts)), 4, 8)}
        accounts = more.pop("accounts", {"a": Account("a"), "b": Account("b")})
        return SimulationSettings(
            "test", kinds, {"q": Queue("q", ("x",), default=True, **(queue or {}))}, accounts, **more
        )

    return make
