"""Whether a host's exporter answers, and all that it asks."""

import pytest

from clusterwright.check.checks.exporter_answers import exporter_answers
from clusterwright.check.facts.exporter import exporter
from clusterwright.check.verdict import Status


@pytest.mark.parametrize(
    ("have", "status", "saw"),
    [
        ({"gpus": True, "jobs": True}, Status.OK, "2 collectors up"),
        ({"gpus": False, "jobs": True}, Status.FAIL, "collectors down: gpus"),
        ("error: Connection refused", Status.FAIL, "Connection refused"),
    ],
)
def test_each_collector_that_gives_no_answer_is_named(have, status, saw):
    """And a service that refuses."""
    found = exporter_answers.judge(None, have)

    assert found.status is status
    assert saw in found.observed


def test_the_fact_reads_what_the_exporter_says():
    """Or why it says nothing; another program on its port is none of ours."""
    text = 'clusterwright_collector_up{collector="gpus"} 0\nclusterwright_collector_up{collector="jobs"} 1\n'

    assert exporter.parse(text) == {"gpus": False, "jobs": True}
    assert exporter.parse("error: Connection refused\n") == "error: Connection refused"
    with pytest.raises(ValueError, match="nginx"):
        exporter.parse("<html>nginx</html>")
