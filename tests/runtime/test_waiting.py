"""A run says how long its steps waited for data, and what else is drawn of them."""

import pytest

from clusterwright.onhost.supervisor.goodput import advice, history, speed

pytestmark = pytest.mark.train


def test_what_a_step_says_of_itself(train):
    """Rank 0 waits some 4 ms a step, rank 1 three times as long: the share is that of the slower one."""
    trained = train(ranks=2, script="waiting")
    assert trained.codes == [0, 0], trained.log
    told = history.read(str(trained.folder))
    plan, steps = trained.events("plan")[0], trained.events("step")
    found = speed.combine_generations(told.events)

    assert [plan[key] for key in ("batch", "flops", "device", "dtype", "parameters")] == [
        8,
        1e6,
        "cpu",
        "float32",
        5,
    ]
    assert {event["lr"] for event in steps} == {0.25}
    assert all(event["norm"] > 0 for event in steps)
    assert steps[0]["memory"] > 1e6
    assert 0.05 < found.rank0_share < found.share < 0.9
    assert found.share > 1.8 * found.rank0_share
    said = "\n".join(advice.list_advice(told.events, told.record))
    assert "steps waited" in said
    assert "the rank itself reads" in said
    assert "data: 1 bad sample skipped, the first: bad sample passed over: x" in said
