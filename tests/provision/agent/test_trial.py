"""A rehearsal before files change: what it sees, what it may refuse, and that nothing of it stays."""

import grp
import json
import os
import pwd

import pytest

from clusterwright.onhost.provision import agent
from clusterwright.onhost.provision.host import LocalHost
from clusterwright.provision.bundle import _resource_fields
from clusterwright.provision.resources import File, Trial

ME = {"owner": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name}
STATE = "var/lib/clusterwright"
PAIR = ("file:/etc/a.conf", "file:/etc/b.conf")


def pair(text):
    """Two files that a daemon reads together, one of them secret."""
    secret = File(path="/etc/b.conf", content=f"b {text}", mode=0o600, secret="b", **ME)
    return File(path="/etc/a.conf", content=f"a {text}", **ME), secret


def trial(script):
    """A shell's judgement of both."""
    return Trial(name="daemon", files=PAIR, argv=("sh", "-c", script, "sh", "{}"))


@pytest.fixture
def host(tmp_path):
    """Applies, with the answer."""

    def run(*resources, when="1", mode="apply"):
        plain = [_resource_fields(resource) for resource in resources]
        order = {"mode": mode, "root": str(tmp_path), "source": "c", "when": when, "expect": ""}
        return agent.run_bundle(order | {"resources": plain})

    run.root = tmp_path
    return run


def test_a_trial_sees_all_files_as_they_are_to_be_and_nobody_else_does(host):
    """Before the first is in place; in a folder for root's eyes, with each file's own mode."""
    host(*pair("one"))
    seen = host.root / "seen"
    look = f'(stat -c %a "$1"; cd "$1"; stat -c "%a %n" *; cat *; cat {host.root}/etc/a.conf) > {seen}'
    answer = host(*pair("two"), trial(look), when="2")

    assert answer["error"] == ""
    assert seen.read_text() == "700\n644 a.conf\n600 b.conf\na twob twoa one"
    assert [path.name for path in (host.root / STATE).iterdir() if "trial" in path.name] == []


def test_what_could_not_be_tried_is_a_note(host):
    """The trial ends well and says why: no reason to refuse the files, and not kept from the one who applies."""
    host(*pair("one"))
    answer = host(*pair("two"), trial("echo no trial: no daemon here"), when="2")

    assert answer["error"] == ""
    assert "daemon: no trial: no daemon here" in answer["notes"]


def test_a_trial_that_fails_leaves_both_files(host):
    """Its words come back without the folder's name; it is the change's fault."""
    host(*pair("one"))
    answer = host(*pair("two"), trial('echo "$1/a.conf: line 1: no such key"; exit 1'), when="2")

    assert answer["error"].startswith("file:/etc/a.conf: daemon rejects the new files, so none was changed")
    assert "SCRATCH/a.conf: line 1: no such key" in answer["error"]
    assert (answer["fault_domain"], (host.root / "etc/a.conf").read_text()) == ("change", "a one")
    assert [path.name for path in (host.root / STATE).iterdir() if "trial" in path.name] == []


@pytest.mark.parametrize("before", [True, False])
def test_nothing_is_tried_where_nothing_ran_or_nothing_changes(host, before):
    """A bare host has no daemon to disturb; owner and mode alone are not read by a trial."""
    if before:
        host(*pair("one"))
        (host.root / "etc/a.conf").chmod(0o600)
    answer = host(*pair("one"), trial("exit 1"), when="2")

    assert answer["error"] == ""
    assert len(answer["changes"]) == (1 if before else 2)


def test_one_new_file_beside_one_that_is_there_is_tried(host):
    """The daemon already runs on the first."""
    host(pair("one")[0])
    answer = host(*pair("one"), trial("exit 1"), when="2")

    assert "daemon rejects" in answer["error"]


def test_what_a_killed_trial_left_is_swept_away(host):
    """Its folder holds secrets, and half-written files lie beside their targets."""
    host(*pair("one"))
    folder = host.root / STATE / ".wright-trial-abc"
    folder.mkdir(mode=0o700)
    (folder / "b.conf").write_text("b secret")
    (host.root / "etc/.a.conf.wright-xyz").write_text("half")
    (host.root / "etc/.other.wright-xyz").write_text("not ours")
    (host.root / STATE / "journal.jsonl").write_text(json.dumps({"doing": PAIR[0], "cost": "restart"}) + "\n")
    host(*pair("two"), when="2")

    assert not folder.exists()
    assert sorted(path.name for path in (host.root / "etc").iterdir()) == [
        ".other.wright-xyz",
        "a.conf",
        "b.conf",
    ]


@pytest.mark.parametrize(
    ("journal", "owed", "gently"),
    [
        ([{"doing": "file:/a", "cost": "reconfigure"}], {"file:/a"}, {"file:/a"}),
        ([{"doing": "file:/a", "cost": "restart"}], {"file:/a"}, set()),
        (
            [{"doing": "file:/a", "cost": "reconfigure"}, {"doing": "file:/a", "cost": "restart"}],
            {"file:/a"},
            set(),
        ),
        ([{"doing": "file:/a", "cost": "restart"}, {"settled": "1"}], set(), set()),
        (
            [
                {"doing": "file:/a", "cost": "restart"},
                {"settled": "1"},
                {"doing": "file:/b", "cost": "restart"},
            ],
            {"file:/b"},
            set(),
        ),
    ],
)
def test_what_a_crash_left_owed_is_told_from_the_journal(host, journal, owed, gently):
    """A reload stays a reload; what the units have done is not owed again."""
    (host.root / STATE).mkdir(parents=True)
    (host.root / STATE / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in journal))
    found = LocalHost({"root": str(host.root), "resources": []})

    assert (found.owed, found.owed_reloads) == (owed, gently)


def test_a_file_of_a_killed_apply_that_nobody_wants_now_is_removed(host):
    """It is not in the receipt, but the journal knows that we wrote it."""
    killer = File(path="/etc/z", content="z", validate=("sh", "-c", "exit 1", "{}"), **ME)
    host(File(path="/etc/new", content="n", **ME), killer)
    answer = host(when="2")

    assert [(change["id"], change["applied"]) for change in answer["changes"]] == [("gone:/etc/new", True)]
    assert list((host.root / "etc").iterdir()) == []


@pytest.mark.parametrize(("cost", "refused"), [("drain", True), ("restart", False)])
def test_a_change_that_wants_an_empty_host_is_not_made_under_a_job(host, monkeypatch, cost, refused):
    """The job began between the look and the act; a restart does not mind."""
    monkeypatch.setattr(agent, "job_steps", lambda: 1)  # no Slurm runs jobs here
    host(File(path="/etc/a.conf", content="one", **ME))
    wanted = File(path="/etc/a.conf", content="two", cost=cost, **ME)
    answer = agent.run_bundle(
        {"mode": "apply", "root": str(host.root), "source": "c", "when": "2", "expect": "", "idle": True}
        | {"resources": [_resource_fields(wanted)]}
    )

    assert ("a job started on this host" in answer["error"], (host.root / "etc/a.conf").read_text()) == (
        refused,
        "one" if refused else "two",
    )
