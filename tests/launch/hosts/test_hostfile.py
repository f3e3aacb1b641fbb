"""Hostfiles of MPI and DeepSpeed: every form of a line, and lines that are none."""

import pytest

from clusterwright.errors import WrightError
from clusterwright.launch.hosts.hostfile import SlotHost, parse_hostfile, read_hostfile


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("worker-1 slots=4", [SlotHost("worker-1", 4)]),
        ("node13  slots=5 max_slots=8", [SlotHost("node13", 5)]),
        ("node01:5", [SlotHost("node01", 5)]),
        ("host1:2 binding=user:0,1", [SlotHost("host1", 2)]),
        ("node15", [SlotHost("node15")]),
        ("alice@gpu1.lab.example slots=2", [SlotHost("gpu1.lab.example", 2, "alice")]),
        ("bob@10.0.0.7:8  # by the window", [SlotHost("10.0.0.7", 8, "bob")]),
        ("node[1-3] slots=8", [SlotHost(f"node{number}", 8) for number in (1, 2, 3)]),
        ("n1\nn1\nn2\nn2\nn1", [SlotHost("n1", 3), SlotHost("n2", 2)]),
        ("\n# all of them\n\nn1:2\n", [SlotHost("n1", 2)]),
    ],
)
def test_each_form_of_a_line_is_read(line, expected):
    """As Open MPI, MPICH and DeepSpeed document them, and as schedulers write node files."""
    assert list(parse_hostfile(line, "hosts")) == expected


@pytest.mark.parametrize(
    "line",
    [
        "-oProxyCommand=id",
        "n1 -oProxyCommand=id",
        "n1 slots=many",
        "n1:0",
        "n1;id",
        "a/b",
        "../x",
        "$(id)",
        "n1 n2",
        "@n1",
        "n" * 254,
        "u" * 65 + "@n1",
    ],
)
def test_a_line_that_is_no_host_is_named(line):
    """Its number and its text; nothing of it ever reaches ssh."""
    with pytest.raises(WrightError, match=r"  hosts:2:1\n    2 \| ") as raised:
        parse_hostfile(f"n1\n{line}\n", "hosts")

    assert (raised.value.code, line in str(raised.value)) == ("hostfile-line", True)


def test_all_lines_that_are_no_host_are_named_at_once():
    """Each with its place."""
    with pytest.raises(WrightError) as raised:
        parse_hostfile("n1 slots=eight\nn2\n  n3:\n", "hosts")

    assert [(place.line, place.column) for finding in raised.value.findings for place in finding.places] == [
        (1, 1),
        (3, 3),
    ]


@pytest.mark.parametrize("text", ["", "# nobody\n", "n[1-65]"])
def test_a_file_without_hosts_or_with_too_many_is_refused(text):
    """64 hosts are the most."""
    with pytest.raises(WrightError, match="1 to 64 are possible"):
        parse_hostfile(text, "hosts")


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    """The message names it."""
    with pytest.raises(WrightError, match=r"cannot read .*hosts: No such file") as raised:
        read_hostfile(tmp_path / "hosts")

    assert raised.value.code == "file-unreadable"


def test_the_target_of_ssh_has_the_user():
    """A line without a user leaves it to ssh's own configuration."""
    assert [host.target for host in parse_hostfile("n1\nalice@n2", "hosts")] == ["n1", "alice@n2"]


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("n1 slots=eight", "the number of slots is `eight`"),
        ("n1 slots=0", "the number of slots is `0`"),
        ("n1 gpus=4", "a hostfile has no `gpus=`"),
        ("node[6-4] slots=8", "`node[6-4]` has a descending range; it is node[4-6]"),
        ("n/1", "`n/1` is not a host"),
    ],
)
def test_each_wrong_line_has_its_own_cause(line, cause):
    """A count, a key, a range, or the host itself."""
    with pytest.raises(WrightError) as raised:
        parse_hostfile(f"n7\n{line}\n", "hosts")

    assert cause in str(raised.value)


def test_an_ansible_inventory_is_named_once():
    """Not each of its lines."""
    with pytest.raises(WrightError) as raised:
        parse_hostfile("[gpu]\nn1 ansible_host=10.0.0.1\nn2 ansible_user=x\n", "hosts.ini")

    assert [finding.message for finding in raised.value.findings] == [
        "hosts.ini is an Ansible inventory, not a hostfile"
    ]


@pytest.mark.parametrize(
    "text", ["n1 slots=8\nn2 slots=8\nn1 slots=4\n", "n1:8\nn2\nalice@n1 slots=4\n", "n1:11\n\nn1\n"]
)
def test_a_host_with_slots_in_two_lines_is_an_error(text):
    """Both lines are named, and the line with the slots of both."""
    with pytest.raises(WrightError) as raised:
        parse_hostfile(text, "hosts")

    (finding,) = raised.value.findings
    assert (finding.code, finding.message) == ("hostfile-line", "n1 is listed twice")
    assert [place.line for place in finding.places] == [1, 3]
    assert finding.fix.endswith("n1 slots=12")


def test_a_host_in_lines_without_slots_has_one_for_each():
    """As in the node files of schedulers."""
    assert parse_hostfile("n1\nn2\nn1\n", "hosts") == (SlotHost("n1", 2), SlotHost("n2"))
