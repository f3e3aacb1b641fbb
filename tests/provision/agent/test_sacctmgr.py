"""How sacctmgr is called: a program of ours in its place says what it was asked."""

import socket

import pytest

from clusterwright.onhost.provision.host import ChangeError
from clusterwright.onhost.provision.sacctmgr import answers, change_all, load, read_answers, start_queries

FAKE = """#!/bin/sh
echo "$*" >> {log}
case "$*" in
*"show qos"*) echo "normal|0|||00:00:00||||||" ;;
*"show assoc"*) echo "vision||||root|60" ; echo "vision|bob||||1" ;;
*"show user"*) echo "bob|vision|None" ;;
*refused*) echo "sacctmgr: error: no such TRES" ; exit 1 ;;
*load*) cat "${{3#file=}}" >> {log} ;;
esac
"""


@pytest.fixture
def log(tmp_path, monkeypatch):
    """What was asked, call by call."""
    program = tmp_path / "sacctmgr"
    program.write_text(FAKE.format(log=tmp_path / "log"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path / "log"


def test_answers_are_rows_by_field(log):
    """Associations are those of this cluster alone."""
    found = read_answers(start_queries("lab", []))

    assert [row["Name"] for row in found["qos"]] == ["normal"]
    assert [(row["Account"], row["User"], row["ParentName"]) for row in found["assoc"]] == [
        ("vision", "", ""),
        ("vision", "bob", ""),
    ]
    assert found["user"] == [{"User": "bob", "DefaultAccount": "vision", "AdminLevel": "None"}]
    assert "cluster=lab" in next(line for line in log.read_text().splitlines() if "show assoc" in line)


def test_every_change_is_made_before_the_first_failure_is_told(log):
    """In sacctmgr's own words, and as this host's trouble."""
    with pytest.raises(ChangeError, match="no such TRES") as caught:
        change_all([["add", "refused"], *([["add", "qos", f"q{number}"] for number in range(10)])])

    assert caught.value.fault_domain == "host"
    assert len(log.read_text().splitlines()) == 11


def test_new_teams_are_one_call(log):
    """The file that it loads names cluster, parent and team; nothing is called for nothing."""
    load("lab", [])
    load("lab", [("root", ["Account - 'vision':Fairshare=60"])])

    assert log.read_text().splitlines()[1:] == [
        "Cluster - 'lab'",
        "Parent - 'root'",
        "Account - 'vision':Fairshare=60",
    ]


def test_who_listens_answers():
    """And who does not is told with the reason, once patience is over."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        there = answers("127.0.0.1", port, 5)
    gone = answers("127.0.0.1", port, 0.1)

    assert there == ""
    assert "refused" in gone


def test_settings_of_the_rows_are_queried_too(log):
    """`options` of a QOS or team name settings that no apply compares by itself; each kind is asked for its own."""
    rows = [
        {"kind": "qos", "name": "high", "MaxSubmitJobsPerUser": "20", "GrpTRES cpu": "64"},
        {"kind": "account", "name": "vision", "MaxSubmitJobs": "5"},
    ]

    found = read_answers(start_queries("lab", rows))

    asked = {
        line.split()[2]: line.rpartition("format=")[2].split(",") for line in log.read_text().splitlines()
    }
    assert "MaxSubmitJobsPerUser" in asked["qos"]
    assert "MaxSubmitJobsPerUser" not in asked["assoc"]
    assert "MaxSubmitJobs" in asked["assoc"]
    assert asked["qos"].count("GrpTRES") == 1
    assert list(found["user"][0]) == ["User", "DefaultAccount", "AdminLevel"]
