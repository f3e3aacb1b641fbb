"""Whether a host publishes its metrics."""

import pytest

from clusterwright.check.checks.metrics_answer import metrics_answer
from clusterwright.check.verdict import Status


@pytest.mark.parametrize(
    ("have", "status"),
    [
        ("node_exporter 1.5.0", Status.OK), ("error: Connection refused", Status.FAIL),
        ("error: timed out", Status.UNKNOWN),
    ],
)  # fmt: skip
def test_a_host_that_is_slow_to_answer_is_not_called_silent(have, status):
    """Refused is a service that is down; late may be a busy host."""
    assert metrics_answer.judge(None, have).status is status
