"""Rows that a daemon keeps: what is planned, what is remembered."""

import json
import socket

import pytest

from clusterwright.onhost.provision import records
from clusterwright.onhost.provision.host import STATE, LocalHost
from clusterwright.onhost.provision.records import begin, do_all, plan_rows, remember

WHERE = {"kind": "slurmdbd", "name": "control", "cluster": "lab", "address": "127.0.0.1", "port": "1",
         "controller": "127.0.0.1", "controller_port": "1"}  # fmt: skip
TEAM = {"kind": "account", "name": "vision", "Fairshare": "60"}
BOB = {"kind": "user", "name": "bob", "account": "vision"}
ANSWERS = {
    "qos": [{"Name": "normal"}],
    "assoc": [
        {"Account": "root", "User": "", "Partition": "", "ParentName": ""},
        {"Account": "vision", "User": "", "Partition": "", "ParentName": "root", "Fairshare": "40"},
        {"Account": "vision", "User": "carol", "Partition": "", "ParentName": ""},
    ],
    "user": [],
}


def host_with(root, *rows):
    """A host that wants these rows."""
    (root / STATE.strip("/")).mkdir(parents=True, exist_ok=True)
    resource = {
        "kind": "records",
        "id": "records:accounts",
        "name": "accounts",
        "rows": [WHERE, *rows],
        "required_by": [],
    }
    return LocalHost({"root": str(root), "resources": [resource]})


def test_a_silent_slurmdbd_is_one_change_for_all_rows(tmp_path):
    """It may not be installed yet; what is there is compared when it runs."""
    host = host_with(tmp_path, TEAM, BOB)

    assert begin(host) == {}
    assert [one["summary"] for one in plan_rows(host, host.resources[0], {})] == [
        "compare with slurmdbd, which does not respond yet (rows: 2)"
    ]


def test_names_are_waited_for_even_where_there_are_none(tmp_path):
    """A slurmctld that never ran ends where slurmdbd does not listen before it starts."""
    host = host_with(tmp_path)

    assert len(plan_rows(host, host.resources[0], {})) == 1


def test_a_host_without_sacctmgr_is_no_trouble(tmp_path, monkeypatch):
    """It comes with the apply, while slurmdbd runs on another host already."""
    monkeypatch.setenv("PATH", str(tmp_path))
    host = host_with(tmp_path, TEAM)
    with socket.create_server(("127.0.0.1", 0)) as server:
        host.resources[0]["rows"][0] = WHERE | {"port": str(server.getsockname()[1])}

        assert begin(host) == {}


def test_each_row_that_differs_is_a_change_and_strangers_are_notes(tmp_path):
    """Carol was put into the team by hand."""
    host = host_with(tmp_path, TEAM, BOB)
    host.answers = ANSWERS
    changes = plan_rows(host, host.resources[0], {"asked": True})

    assert [(one["summary"], one["cost"]) for one in changes] == [
        ("team vision: Fairshare 40 -> 60", "live"),
        ("create member bob of vision", "live"),
    ]
    assert host.notes == [
        "slurmdbd has members that are not in the cluster file: carol of vision. They are not changed"
    ]


@pytest.mark.parametrize(
    ("jobs", "changes", "notes"),
    [([], ["remove member carol of vision"], 0), ([{"user": "carol", "account": "vision"}], [], 1)],
)
def test_what_was_ours_goes_unless_it_has_jobs(tmp_path, monkeypatch, jobs, changes, notes):
    """Remembered from the apply that made it."""
    host = host_with(tmp_path, TEAM | {"Fairshare": "40"})
    host.answers = ANSWERS
    kept = {"accounts": [["account", "vision"], ["user", "carol", "vision"]]}
    (tmp_path / records.MEMORY.strip("/")).write_text(json.dumps(kept))
    monkeypatch.setattr(records, "in_use", lambda: jobs)  # squeue is real in the lab's tests

    assert [one["summary"] for one in plan_rows(host, host.resources[0], {"asked": True})] == changes
    assert len(host.notes) == notes


def test_what_could_not_be_removed_is_remembered(tmp_path):
    """Until an apply finds it gone."""
    before = host_with(tmp_path, TEAM, BOB)
    remember(before)
    after = host_with(tmp_path, TEAM)
    remember(after)

    kept = json.loads((tmp_path / records.MEMORY.strip("/")).read_text())
    assert kept == {"schema": 1, "accounts": [["account", "vision"], ["user", "bob", "vision"]]}


def test_silence_is_told_with_place_and_mend_and_holds_up_nobody(tmp_path, monkeypatch):
    """The trouble is this host's own."""
    host = host_with(tmp_path, TEAM)
    monkeypatch.setattr(records, "READY_S", 0)
    (resource,) = host.resources
    trouble = do_all(
        host, [resource], [dict(one, id="records:accounts") for one in plan_rows(host, resource, {})]
    )

    assert trouble.fault_domain == "host"
    assert "slurmdbd on control (127.0.0.1:1) does not respond" in str(trouble)
    assert "journalctl -u slurmdbd -u mariadb" in str(trouble)


def test_a_daemon_that_listens_is_asked(tmp_path, monkeypatch):
    """Three questions, under way before files are looked at."""
    host = host_with(tmp_path, TEAM)
    asked = []
    monkeypatch.setattr(
        records, "start_queries", lambda cluster, _rows: asked.append(cluster) or {"asked": True}
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        host.resources[0]["rows"][0] = WHERE | {"port": str(server.getsockname()[1])}
        found = begin(host)

    assert (found, asked) == ({"asked": True}, ["lab"])
