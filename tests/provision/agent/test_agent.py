"""The agent on a host, tried against a folder that stands for one; systemd is in test_apply_lab.py."""

import ast
import difflib
import fcntl
import grp
import hashlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright.edge.bundler import PROVISION, program_command, program_input, sources
from clusterwright.edge.processes import CommandResult
from clusterwright.onhost.provision import agent, files, undo
from clusterwright.onhost.provision.host import LocalHost
from clusterwright.provision.bundle import Order, bundle
from clusterwright.provision.resources import Directory, File, Module, Symlink, Sysctl
from clusterwright.provision.work import read_answer

ME = pwd.getpwuid(os.getuid()).pw_name
MY_GROUP = grp.getgrgid(os.getgid()).gr_name
STATE = "var/lib/clusterwright"


def file(path="/etc/app.conf", content="one\n", **other):
    """A file of whoever runs the test."""
    return File(path=path, content=content, owner=ME, group=MY_GROUP, **other)


@pytest.fixture
def host(tmp_path):
    """Runs the agent as it is on a host, by its own command, with another root."""
    root = tmp_path / "root"
    root.mkdir()

    def run(mode, *resources, expect="", when="100", shared=(), removes=True):
        order = Order(mode, "cluster.yaml", when, expect, str(root), removes=removes)
        data = program_input(PROVISION) + bundle(order, resources, shared)
        done = subprocess.run(
            ["sh", "-c", program_command()], input=data, capture_output=True, check=False, timeout=60
        )
        lines = [line for line in done.stdout.decode().splitlines() if line.startswith(agent.ANSWER)]
        return json.loads(lines[-1].removeprefix(agent.ANSWER)) if lines else done

    run.root = root
    return run


def test_the_diff_of_a_new_shared_file_is_completed_where_its_content_is(host):
    """Hosts send back no text that all of them were sent; edited later, the file has a diff of the host's own."""
    shared = file(content="one\ntwo\n")
    first = host("apply", shared, shared=("one\ntwo\n",))
    (host.root / "etc/app.conf").write_text("one\n")
    again = host("check", shared, shared=("one\ntwo\n",))
    reports = [read_answer("a", done(answer), resources=[shared]) for answer in (first, again)]

    assert first["changes"][0]["diff"] is None
    assert [report.changes[0].diff.splitlines()[2:] for report in reports] == [
        ["@@ -0,0 +1,2 @@", "+one", "+two"],
        ["@@ -1 +1,2 @@", " one", "+two"],
    ]


def done(answer):
    """The answer as ssh brings it."""
    return CommandResult((), 0, f"{agent.ANSWER}{json.dumps(answer)}\n", "", 1.0)


def test_looking_changes_nothing(host):
    """`check` says what it would do, with a diff, and leaves no trace."""
    answer = host("check", file())

    assert answer["changes"] == [
        {
            "id": "file:/etc/app.conf",
            "summary": "create",
            "verbs": ["create"],
            "diff": "--- /etc/app.conf\n+++ /etc/app.conf\n@@ -0,0 +1 @@\n+one",
            "cost": "live",
            "drift": "new",
        }
    ]
    assert list(host.root.iterdir()) == []


@pytest.mark.parametrize("text", ["one\n", "one\ntwo\n", "one\n\n\ntwo", "\n"])
def test_the_diff_of_a_new_file_is_what_difflib_makes(text):
    """It is made without, because a bare host gets a hundred files."""
    wanted = difflib.unified_diff([], text.splitlines(), "/a", "/a", lineterm="")

    assert files.lines_of("/a", [], text.splitlines()) == list(wanted)


def test_a_second_apply_changes_nothing(host):
    """Not even the receipt is written anew."""
    wanted = (
        file(mode=0o640),
        Directory(path="/srv/a", owner=ME, group=MY_GROUP, mode=0o1777),
        Symlink(path="/etc/l", target="/x"),
    )
    first = host("apply", *wanted)
    stamp = (host.root / STATE / "receipt.json").stat().st_mtime_ns
    second = host("apply", *wanted, when="200")

    assert [change["applied"] for change in first["changes"]] == [True, True, True]
    assert (second["changes"], second["error"]) == ([], "")
    assert (host.root / STATE / "receipt.json").stat().st_mtime_ns == stamp
    assert (host.root / "etc/app.conf").stat().st_mode & 0o7777 == 0o640
    assert (host.root / "srv/a").stat().st_mode & 0o7777 == 0o1777
    assert (host.root / "etc/l").readlink() == Path("/x")


def test_a_secret_is_never_shown(host):
    """Neither new, nor changed, nor in the receipt."""
    for content in (b"\x00hidden-one", b"hidden-two"):
        answer = host("apply", file(content=content, secret="munge.key"))
        assert answer["changes"][0]["diff"] == "(secret munge.key: not shown)"
        assert "hidden" not in json.dumps(answer)
    assert "hidden" not in (host.root / STATE / "receipt.json").read_text()


def test_wrong_rights_alone_are_mended_and_said(host):
    """A mode that somebody loosened is a change like any other, and disturbs nobody."""
    host("apply", file(mode=0o400, cost="drain"))
    (host.root / "etc/app.conf").chmod(0o444)
    answer = host("apply", file(mode=0o400, cost="drain"))

    assert [(change["summary"], change["cost"]) for change in answer["changes"]] == [
        ("mode 0444 -> 0400", "live")
    ]
    assert (host.root / "etc/app.conf").stat().st_mode & 0o777 == 0o400


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_wrong_owner_is_mended_and_said(host):
    """Munged does not start with a key that another owns."""
    host("apply", file())
    os.chown(host.root / "etc/app.conf", 1, 1)
    answer = host("apply", file())

    assert answer["changes"][0]["summary"] == f"owner daemon:daemon -> {ME}:{MY_GROUP}"
    assert (host.root / "etc/app.conf").stat().st_uid == os.getuid()


def test_an_edited_file_is_put_right_and_the_edit_is_kept(host):
    """The diff shows the edit going; undo/ holds it, for root only."""
    host("apply", file())
    (host.root / "etc/app.conf").write_text("one\nby hand\n")
    answer = host("apply", file(), when="200")

    assert "-by hand" in answer["changes"][0]["diff"]
    assert (host.root / STATE / "undo/200/files/etc/app.conf").read_text() == "one\nby hand\n"
    assert (host.root / STATE / "undo").stat().st_mode & 0o777 == 0o700


def test_what_nobody_wants_now_is_removed(host):
    """Only a file that we wrote, and only as we wrote it."""
    host("apply", file("/etc/a"), file("/etc/b"), file("/etc/kept"))
    (host.root / "etc/b").write_text("edited\n")
    answer = host("apply", file("/etc/kept"), when="200")

    assert [(change["id"], change["summary"]) for change in answer["changes"]] == [("gone:/etc/a", "remove")]
    assert not (host.root / "etc/a").exists()
    assert (host.root / STATE / "undo/200/files/etc/a").read_text() == "one\n"
    assert (host.root / "etc/b").read_text() == "edited\n"
    assert answer["notes"] == [
        "/etc/b is no longer desired, but was edited after the last apply: not removed"
    ]


def test_a_role_that_is_no_longer_managed_keeps_what_it_has(host):
    """With `manage` in the cluster file, what its hosts have from earlier applies stays."""
    host("apply", file("/etc/a"), file("/etc/kept"))
    answer = host("apply", file("/etc/kept"), when="200", removes=False)

    assert answer["changes"] == []
    assert (host.root / "etc/a").exists()


def test_a_file_that_its_program_refuses_never_arrives(host):
    """The old one stays, the program's words come back, the rest is not begun."""
    host("apply", file())
    judge = ("sh", "-c", "echo line 3: no such key; exit 1", "{}")
    answer = host("apply", file(content="two\n", validate=judge), file("/etc/later"))

    assert "line 3: no such key" in answer["error"]
    assert (host.root / "etc/app.conf").read_text() == "one\n"
    assert sorted(path.name for path in (host.root / "etc").iterdir()) == ["app.conf"]


def test_a_killed_apply_leaves_old_or_new_and_is_seen(host):
    """Killed between two files: the first is new, the second old; the next apply knows and ends it."""
    host("apply", file("/etc/a"), file("/etc/b"))
    deadly = ("sh", "-c", "kill -9 $PPID; sleep 5", "{}")
    killed = host("apply", file("/etc/a", "two\n"), file("/etc/b", "two\n", validate=deadly))
    contents = [(host.root / "etc" / name).read_text() for name in "ab"]
    seen = host("check", file("/etc/a", "two\n"), file("/etc/b", "two\n"))
    fixed = host("apply", file("/etc/a", "two\n"), file("/etc/b", "two\n"))

    assert killed.returncode == -signal.SIGKILL or killed.returncode == 128 + signal.SIGKILL
    assert contents == ["two\n", "one\n"]
    assert seen["facts"]["interrupted"]
    assert fixed["error"] == ""
    assert sorted(path.name for path in (host.root / "etc").iterdir()) == ["a", "b"]
    assert not host("check", file("/etc/a", "two\n"), file("/etc/b", "two\n"))["facts"]["interrupted"]


def test_a_journal_cut_in_the_middle_of_a_line_is_read(host):
    """The line before it still counts."""
    folder = host.root / STATE
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_text('{"begin": "1", "from": "x"}\n{"doing": "file:/etc/a"}\n{"doi')

    found = agent.LocalHost({"root": str(host.root), "resources": []})
    assert (found.interrupted, found.owed) == (True, {"file:/etc/a"})


def test_two_applies_do_not_mix(host):
    """The second says who is at work, and touches nothing."""
    (host.root / STATE).mkdir(parents=True)
    with (host.root / STATE / "lock").open("w") as lock:
        lock.write("process 12 since 10:00:00")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        answer = host("apply", file())

    assert answer["error"] == "another apply is running on this host (process 12 since 10:00:00). Wait for it"
    assert not (host.root / "etc").exists()


def test_a_plan_that_is_no_longer_true_is_not_carried_out(host):
    """What was agreed to is done, or nothing."""
    shown = host("check", file())
    (host.root / "etc").mkdir()
    (host.root / "etc/app.conf").write_text("meanwhile\n")
    answer = host("apply", file(), expect=shown["sum"])

    assert answer["stale"]
    assert (host.root / "etc/app.conf").read_text() == "meanwhile\n"


def test_less_than_was_shown_is_done(host):
    """Another apply, whose ssh was cut, has done a part of it meanwhile: the rest was agreed to as well."""
    shown = host("check", file("/etc/a"), file("/etc/b"))
    host("apply", file("/etc/a"), when="200")
    (host.root / STATE / "receipt.json").unlink()  # it was killed before it wrote one
    answer = host("apply", file("/etc/a"), file("/etc/b"), expect=shown["sum"], when="300")
    again = host("apply", file("/etc/a"), file("/etc/b"), expect=shown["sum"], when="400")

    assert (answer["stale"], [change["id"] for change in answer["changes"]]) == (False, ["file:/etc/b"])
    assert (again["stale"], again["changes"]) == (False, [])


def test_a_folder_that_must_be_mounted_is_not_made(host):
    """Or runs would go to the root disk of the control host."""
    answer = host("apply", Directory(path="/shared/runs", owner=ME, group=MY_GROUP, parents=False))

    assert answer["error"] == "directory:/shared/runs: /shared does not exist. Mount or create it"


def test_a_setting_that_cannot_be_changed_here_is_a_note(host):
    """Otherwise a virtual host would have a change pending for ever."""
    (host.root / "proc/sys/vm").mkdir(parents=True)
    (host.root / "proc/sys/vm/swappiness").write_text("60\n")
    answer = host("apply", Sysctl(key="vm.swappiness", value="10"), Sysctl(key="vm.none", value="1"))

    assert [change["summary"] for change in answer["changes"]] == ["60 -> 10"]
    assert (host.root / "proc/sys/vm/swappiness").read_text() == "10"
    assert answer["notes"] == ["vm.none is not set to 1: this kernel does not have it"]


def test_a_loaded_module_is_left_alone(host):
    """By the name that /sys has for it."""
    (host.root / "sys/module/nvidia_peermem").mkdir(parents=True)

    assert host("check", Module(name="nvidia-peermem"))["changes"] == []


def test_old_undo_folders_go(host):
    """Ten applies are kept."""
    for count in range(13):
        host("apply", file(content=f"{count}\n"), when=str(100 + count))

    assert len(list((host.root / STATE / "undo").iterdir())) == undo.MAX_UNDO


def test_the_receipt_says_what_was_written(host):
    """For drift: path, sum and mode."""
    host("apply", file())
    receipt = json.loads((host.root / STATE / "receipt.json").read_text())

    assert receipt["files"] == {
        "/etc/app.conf": {"sha256": hashlib.sha256(b"one\n").hexdigest(), "mode": "0644"}
    }
    assert (receipt["source"], receipt["when"]) == ("cluster.yaml", "100")


@pytest.mark.parametrize(("name", "text"), sources(PROVISION), ids=lambda value: value[-12:])
def test_the_agent_is_readable_for_python_3_6(name, text):
    """Hosts may be old: RHEL 8 has 3.6."""
    assert ast.parse(text, filename=name, feature_version=(3, 6)).body or not text


def test_nothing_of_the_bundle_is_on_the_command_line():
    """Only the loader is: everybody on the host can read a command line."""
    data = bundle(Order("check", "c", "1"), [file(content="hidden")])

    assert "hidden" not in program_command()
    assert b"hidden" not in data  # and it travels compressed
    assert sys.version_info >= (3, 11)


def test_steps_of_jobs_are_counted_and_not_what_holds_slurmds_cgroup(tmp_path, monkeypatch):
    """With cgroup v2 slurmd keeps a `slurmstepd infinity`, also where no job ever ran."""
    shutil.copy("/bin/sleep", tmp_path / "slurmstepd")
    both = [subprocess.Popen([tmp_path / "slurmstepd", for_s]) for for_s in ("infinity", "600")]
    monkeypatch.setattr(
        agent.os, "listdir", lambda _: [str(one.pid) for one in both]
    )  # not this machine's own
    try:
        while not all(Path(f"/proc/{one.pid}/cmdline").read_bytes() for one in both):
            time.sleep(0.01)  # until they run their own program
        assert agent.job_steps() == 1
    finally:
        for one in both:
            one.kill()
            one.wait()


@pytest.mark.skipif(os.getuid() != 0, reason="links of another user are made by root")
@pytest.mark.parametrize("target", ["victim", "/victim", "chain"])
def test_a_link_of_a_user_does_not_redirect_root(host, target):
    """A folder and a file below it: nothing changes behind the link, and the error names it."""
    victim = host.root / "victim"
    victim.mkdir(mode=0o700)
    home = host.root / "home"
    home.mkdir()
    link = home / "envs"
    link.symlink_to(victim if target == "/victim" else f"../{target}")
    if target == "chain":
        (host.root / "chain").symlink_to("victim")
    os.chown(link, 12345, 12345, follow_symlinks=False)
    wanted = (
        Directory(path="/home/envs", owner=ME, group=MY_GROUP, mode=0o1777),
        Directory(path="/home/envs/new", owner=ME, group=MY_GROUP),
        file("/home/envs/app.conf"),
    )

    for resource in wanted:
        answer = host("apply", resource)
        assert "is a link of user" in json.dumps(answer)

    assert (victim.stat().st_mode & 0o7777, list(victim.iterdir())) == (0o700, [])


def test_a_link_of_root_is_followed(host):
    """As /var/run is one: its target gets owner and mode, and then nothing is left to change."""
    (host.root / "data").mkdir(mode=0o700)
    (host.root / "shared").symlink_to("data")
    folder = Directory(path="/shared", owner=ME, group=MY_GROUP, mode=0o1777)

    host("apply", folder)

    assert (host.root / "data").stat().st_mode & 0o7777 == 0o1777
    assert host("plan", folder)["changes"] == []


@pytest.mark.skipif(os.getuid() != 0, reason="folders of another user are made by root")
def test_a_folder_is_remembered_only_if_root_alone_can_exchange_its_parts(tmp_path):
    """What a user owns, or others may write to, is checked again for each file."""
    host = LocalHost({"root": "", "resources": []})
    safe, users, public = tmp_path / "safe", tmp_path / "users" / "below", tmp_path / "public"
    for folder in (safe, users, public):
        folder.mkdir(parents=True)
    os.chown(users.parent, 12345, 12345)
    public.chmod(0o1777)
    for folder in (safe, users, public, tmp_path / "missing"):
        assert files.trusted_folder(host, str(folder)) == str(folder)

    assert host.safe_folders == {str(safe)}
