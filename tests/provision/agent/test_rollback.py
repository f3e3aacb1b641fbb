"""Going back to before an apply, on a folder that stands for a host; units are in tests/build/test_rollback_lab.py."""

import grp
import json
import os
import pwd
import signal
import stat
import subprocess
import zlib

import pytest

from clusterwright.edge.bundler import PROVISION, program_command, program_input
from clusterwright.onhost.provision import agent, undo
from clusterwright.provision.bundle import Order, bundle
from clusterwright.provision.resources import Directory, File, Symlink, Sysctl

ME = {"owner": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name}
STATE = "var/lib/clusterwright"


def file(path="/etc/app.conf", content="one\n", **other):
    """A file of whoever runs the test."""
    return File(path=path, content=content, **ME, **other)


@pytest.fixture
def host(tmp_path):
    """Runs the agent with another root, or `alone` by its own command; `tree` is all there but our own state."""
    root = tmp_path / "root"
    root.mkdir()

    def run(mode, *resources, when="100", to="", alone=False):
        order = Order(mode, "cluster.yaml", when, root=str(root), to=to)
        data = program_input(PROVISION) + bundle(order, resources)
        if not alone:
            length, _, rest = data.partition(b"\n")
            return agent.run_bundle(json.loads(zlib.decompress(rest[int(length) :])))
        argv = ["sh", "-c", program_command()]
        return subprocess.run(argv, input=data, capture_output=True, check=False, timeout=60)

    def tree():
        found = {}
        for path in sorted(root.rglob("*")):
            name, status = str(path.relative_to(root)), path.lstat()
            if not name.startswith(STATE) and name not in ("var", "var/lib"):
                inside = (
                    path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
                )
                found[name] = (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, inside)
        return found

    run.root, run.tree = root, tree
    return run


def test_everything_of_an_apply_goes_back_byte_for_byte(host):
    """Files with mode and owner, links, folders, what was made and what was removed."""
    first = [file("/etc/a", mode=0o640), file("/etc/gone"), Symlink(path="/etc/l", target="/x")]
    host("apply", *first, Directory(path="/srv/old", mode=0o755, **ME), when="100")
    (host.root / "etc/by-hand").write_bytes(b"\x00\xff not ours, not UTF-8")
    (host.root / "etc/by-hand").chmod(0o604)
    (host.root / "srv/old").chmod(0o700)
    before, receipt = host.tree(), (host.root / STATE / "receipt.json").read_text()
    second = [
        file("/etc/a", "two\n", mode=0o600), file("/etc/by-hand", "ours\n"), file("/opt/new/deep/b"),
        Symlink(path="/etc/l", target="/y"), Directory(path="/srv/old", mode=0o755, **ME),
        Directory(path="/srv/new", **ME),
    ]  # fmt: skip
    host("apply", *second, when="200")
    seen = host("check", to="200")
    answer = host("apply", to="200", when="300")

    assert seen["changes"]
    assert (answer["error"], all(change["applied"] for change in answer["changes"])) == ("", True)
    assert host.tree() == before
    assert (host.root / STATE / "receipt.json").read_text() == receipt
    assert host("check", to="200", when="400")["changes"] == []


def test_going_back_to_before_the_first_apply_leaves_nothing(host):
    """Also what later applies made; and our receipt is that of a host on which nothing was applied."""
    (host.root / "etc").mkdir()
    (host.root / "etc/a").write_text("the distribution's\n")
    before = host.tree()
    host("apply", file("/etc/a"), file("/etc/x/b"), when="100")
    host("apply", file("/etc/a", "two\n"), file("/etc/x/c"), when="200")
    host("apply", file("/etc/a", "three\n"), when="300")
    host("apply", to="100", when="400")

    assert host.tree() == before
    assert json.loads((host.root / STATE / "receipt.json").read_text())["files"] == {}


def test_a_rollback_is_itself_undoable(host):
    """Back, and forth again."""
    host("apply", file(content="one\n"), when="100")
    host("apply", file(content="two\n", mode=0o600), file("/etc/more"), when="200")
    after = host.tree()
    host("apply", to="200", when="300")
    middle = host.tree()
    host("apply", to="300", when="400")

    assert middle != after
    assert host.tree() == after


def test_an_edit_since_is_shown_and_kept(host):
    """What a hand wrote after the apply goes too: the plan shows it, and it can be had back."""
    host("apply", file(content="one\n"), when="100")
    host("apply", file(content="two\n"), when="200")
    (host.root / "etc/app.conf").write_text("by hand\n")
    answer = host("apply", to="200", when="300")
    host("apply", to="300", when="400")

    assert "-by hand\n+one" in answer["changes"][0]["diff"]
    assert (host.root / "etc/app.conf").read_text() == "by hand\n"


def test_a_folder_with_something_of_others_in_it_stays(host):
    """Logs are not thrown away, and the plan does not promise it."""
    host("apply", Directory(path="/var/log/app", **ME), file("/var/log/app/ours"), when="100")
    (host.root / "var/log/app/app.log").write_text("lines\n")
    seen = host("check", to="100", when="200")
    host("apply", to="100", when="200")

    assert [change["id"] for change in seen["changes"]] == ["file:/var/log/app/ours"]
    assert "/var/log/app is not removed: it holds files that no apply made" in seen["notes"]
    assert [path.name for path in (host.root / "var/log/app").iterdir()] == ["app.log"]


def test_a_secret_is_shown_neither_way(host):
    """A diff of a rollback is a diff."""
    host("apply", file(content="hidden-one", secret="munge.key"), when="100")
    host("apply", file(content="hidden-two", secret="munge.key"), when="200")
    answer = host("apply", to="200", when="300")
    host("apply", when="400")
    again = host("check", to="400", when="500")

    assert answer["changes"][0]["diff"] == "(secret munge.key: not shown)"
    assert again["changes"][0]["diff"] == "(secret munge.key: not shown)"
    assert "hidden" not in json.dumps([answer, again])


def test_costs_lead_back_as_they_led_there(host):
    """What wanted a drain one way wants it the other; what a reload covered is covered by a reload."""
    gentle = {"cost": "restart", "gentle": r"Time="}
    host("apply", file("/etc/a", cost="drain"), file("/etc/b", "Time=1\nPort=1\n", **gentle), when="100")
    host(
        "apply", file("/etc/a", "2\n", cost="drain"), file("/etc/b", "Time=2\nPort=1\n", **gentle), when="200"
    )
    costs = {change["id"]: change["cost"] for change in host("check", to="200", when="300")["changes"]}

    assert costs == {"file:/etc/a": "drain", "file:/etc/b": "reconfigure"}


def test_a_setting_goes_back(host):
    """To the value of then."""
    (host.root / "proc/sys/vm").mkdir(parents=True)
    (host.root / "proc/sys/vm/swappiness").write_text("60\n")
    host("apply", Sysctl(key="vm.swappiness", value="10"), when="100")
    host("apply", to="100", when="200")

    assert (host.root / "proc/sys/vm/swappiness").read_text() == "60"


def test_what_was_kept_and_is_damaged_is_not_put_back(host):
    """A file under undo/ that somebody wrote to is not the file of then."""
    host("apply", file(content="one\n"), when="100")
    host("apply", file(content="two\n"), when="200")
    (host.root / STATE / "undo/200/files/etc/app.conf").write_text("other\n")
    answer = host("apply", to="200", when="300")

    assert "differs from the file that was saved" in answer["error"]
    assert (answer["fault_domain"], (host.root / "etc/app.conf").read_text()) == ("host", "two\n")


def test_an_apply_that_was_cut_short_can_be_undone(host):
    """What it had changed goes back; what it had not is as it was."""
    host("apply", file("/etc/a"), file("/etc/b"), when="100")
    before = host.tree()
    deadly = ("sh", "-c", "kill -9 $PPID; sleep 5", "{}")
    wanted = [file("/etc/a", "two\n"), file("/etc/b", "two\n", validate=deadly), file("/etc/c")]
    killed = host("apply", *wanted, when="200", alone=True)
    between = (host.root / "etc/a").read_text()
    answer = host("apply", to="200", when="300")

    assert killed.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    assert (between, answer["error"]) == ("two\n", "")
    assert host.tree() == before
    assert not host("check", to="200", when="400")["facts"]["interrupted"]


def test_a_rollback_that_was_cut_short_is_gone_on_with(host):
    """Stopped when all files but one are back: the same command does the rest."""
    host("apply", *(file(f"/etc/{name}") for name in "abc"), when="100")
    before = host.tree()
    host("apply", *(file(f"/etc/{name}", "two\n") for name in "abc"), when="200")
    (host.root / "etc/a").unlink()
    (host.root / "etc/a/in-the-way").mkdir(parents=True)  # the last to go back
    stopped = host("apply", to="200", when="300")
    (host.root / "etc/a/in-the-way").rmdir()
    (host.root / "etc/a").rmdir()
    host("apply", to="200", when="400")

    assert (stopped["error"] != "", [change.get("applied", False) for change in stopped["changes"]]) == (
        True,
        [True, True, False],
    )
    assert host.tree() == before


def test_a_list_says_what_can_be_undone(host):
    """The oldest first, rollbacks among them; nothing is changed by asking."""
    assert host("list")["applies"] == []
    host("apply", file(), when="100")
    host("apply", file(content="two\n"), when="200")
    host("apply", to="200", when="300")

    rows = [(row["when"], row["to"], row["source"]) for row in host("list")["applies"]]
    assert rows == [("100", "", "cluster.yaml"), ("200", "", "cluster.yaml"), ("300", "200", "cluster.yaml")]


def test_how_far_back_it_goes_is_said(host):
    """Ten applies are kept."""
    for count in range(12):
        host("apply", file(content=f"{count}\n"), when=str(100 + count))
    answer = host("check", to="100", when="200")

    assert answer["notes"] == [
        f"only the last {undo.MAX_UNDO} applies are stored: the rollback goes back to 102"
    ]
    assert "+1" in answer["changes"][0]["diff"]
