"""The ranks' network of one host stops passing anything in the middle of a training. Needs root."""

import pytest

from clusterwright import lab

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(600)]


@pytest.mark.parametrize("fault", ["half-open-link", "link-down"])
def test_a_network_that_passes_nothing_any_more_is_found(training, fault):
    """Nobody is behind and nothing has died; it is not waited until ranks are taken for hung."""
    struck = training(400, recovery={"on_host_loss": "spare", "spare_nodes": 1})
    struck.until_step(30)
    batch = struck.until("job_start")[0]["host"]
    victim = next(host for host in struck.until("generation_start")[0]["hosts"] if host != batch)
    lab.fault(struck.where.cluster.name, fault, victim, network="compute")
    (lost,) = struck.until("host_lost", lost_host=victim)
    struck.until("step", generation=2)
    struck.finish()

    assert "on the ranks' network" in lost["reason"]
    assert struck.events("rank_hung") == []
    assert victim not in struck.events("generation_start")[-1]["hosts"]
    assert len(struck.events("job_start")) == 1
    assert [step for step, found in struck.losses().items() if len(found) > 1] == []
