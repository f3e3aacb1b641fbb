"""Lines of a hostfile that have another form: each is named with what to write."""

import pytest

from clusterwright.errors import WrightError
from clusterwright.launch.hosts.hostfile import parse_hostfile


@pytest.mark.parametrize(
    ("line", "message", "fix"),
    [
        ("node4 slots=8 slots=4", "node4 has its slots twice", "node4 slots=8"),
        ("node4:8 slots=4", "node4 has its slots twice", "node4 slots=4"),
        ("192.0.2.11 node1", "/etc/hosts", "node1"),
        ("node1 slot=8", "no `slot=`", "slots=8"),
        ("node1 slots=-8", "`-8`", "slots=8"),
    ],
)
def test_a_line_of_another_form_is_named(line, message, fix):
    """Slots that are set twice were accepted."""
    with pytest.raises(WrightError) as caught:
        parse_hostfile(line, "hosts")
    (finding,) = caught.value.findings
    assert message in finding.message
    assert fix in finding.fix


def test_an_address_alone_is_a_host():
    """With its slots."""
    assert parse_hostfile("192.0.2.11 slots=8", "hosts")[0].slots == 8
