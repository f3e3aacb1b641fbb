"""Whether a host publishes its metrics."""

import pytest

from clusterwright.check.checks.metrics_answer import metrics_answer
from clusterwright.check.fact import Missing
from clusterwright.check.facts.exporter import exporter
from clusterwright.check.facts.node_exporter import node_exporter
from clusterwright.check.reading import value_of
from clusterwright.check.verdict import Status


@pytest.mark.parametrize(
    ("have", "status"), [("node_exporter 1.5.0", Status.OK), ("error: Connection refused", Status.FAIL)]
)
def test_a_host_that_answers_publishes_its_metrics(have, status):
    """Refused is a service that is down."""
    assert metrics_answer.judge(None, have).status is status


@pytest.mark.parametrize("fact", [node_exporter, exporter], ids=lambda fact: fact.id)
def test_a_host_that_is_slow_to_answer_is_not_called_silent(fact):
    """Late may be a busy host: a fact that is missing makes every check of it unknown."""
    end = {"code": 124, "out": "error: timed out\n", "err": "", "stopped": ""}

    assert isinstance(value_of(fact, end, fact.id), Missing)
