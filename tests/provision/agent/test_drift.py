"""Why a host is not as wanted, told by the agent on a folder that stands for one."""

import grp
import os
import pwd

import pytest

from clusterwright.onhost.provision import agent, drift
from clusterwright.onhost.provision.change import Verb
from clusterwright.onhost.provision.host import LocalHost
from clusterwright.onhost.provision.units import plan_unit
from clusterwright.provision.bundle import _resource_fields
from clusterwright.provision.resources import Directory, File, Package, Unit

ME = {"owner": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name}
PATH = "/etc/app.conf"


@pytest.fixture
def look(tmp_path):
    """What the agent finds, and does when told: cause by id of each change."""

    def look(*resources, mode="check", when="1"):
        plain = [_resource_fields(resource) for resource in resources]
        order = {"mode": mode, "root": str(tmp_path), "source": "c", "when": when, "expect": ""}
        answer = agent.run_bundle(order | {"resources": plain})
        assert answer["error"] == ""
        return {change["id"]: change["drift"] for change in answer["changes"]}

    look.root = tmp_path
    return look


def file(content="one\n", **other):
    """A file of whoever runs the test."""
    return File(path=PATH, content=content, **ME, **other)


def test_what_was_never_applied_is_new(look):
    """Nothing is there, and no receipt."""
    assert look(file()) == {f"file:{PATH}": "new"}


def test_what_is_not_ours_is_found(look):
    """A file of the distribution lies in its place: it is kept for undo, and named."""
    (look.root / "etc").mkdir()
    (look.root / "etc/app.conf").write_text("theirs\n")

    assert look(file()) == {f"file:{PATH}": "found"}


def test_a_hand_on_the_host_is_told_from_a_changed_cluster_file(look):
    """The disk is what we wrote last, or it is not."""
    look(file(), mode="apply")
    moved_on = look(file("two\n"))
    (look.root / "etc/app.conf").write_text("by hand\n")

    assert moved_on == {f"file:{PATH}": "changed"}
    assert look(file()) == look(file("two\n")) == {f"file:{PATH}": "edited"}


def test_rights_that_were_altered_by_hand_are_edited(look):
    """The bytes are ours, the mode is not."""
    look(file(), mode="apply")
    (look.root / "etc/app.conf").chmod(0o600)

    assert look(file()) == {f"file:{PATH}": "edited"}
    assert look(file("two\n", mode=0o600)) == {f"file:{PATH}": "changed"}


def test_what_was_removed_by_hand_is_missing(look):
    """Files say so; a folder is only not as it was."""
    folder = Directory(path="/srv/a", **ME)
    look(file(), folder, mode="apply")
    (look.root / "etc/app.conf").unlink()
    (look.root / "srv/a").rmdir()

    assert look(file(), folder) == {f"file:{PATH}": "missing", "directory:/srv/a": "edited"}


def test_what_nobody_wants_any_more_is_a_change_of_the_file(look):
    """It is removed because the cluster file left it out."""
    look(file(), mode="apply")

    assert look() == {f"gone:{PATH}": "changed"}


@pytest.mark.parametrize(
    ("resource", "verbs", "cause"),
    [
        (Unit(name="a.service"), [Verb.START], "stopped"),
        (Unit(name="a.service"), [Verb.ENABLE, Verb.START], "stopped"),
        (Unit(name="a.service"), [Verb.RESTART], "follows"),
        (Package(name="a"), [Verb.INSTALL], "missing"),
    ],
)
def test_units_and_packages_of_an_earlier_apply(tmp_path, resource, verbs, cause):
    """Wanted then as now, so somebody stopped or removed it; a restart only follows another change."""
    host = LocalHost({"root": str(tmp_path), "resources": [_resource_fields(resource)]})
    now = drift.digests(host)
    host.receipt["wanted"] = dict(now)
    change = {"id": resource.id, "verbs": verbs}

    assert drift.cause(host, change, now) == cause
    host.receipt["wanted"] = {}
    assert drift.cause(host, change, now) == ("follows" if cause == "follows" else "new")


def test_a_path_that_contains_a_verb_changes_no_cause(tmp_path):
    """The text names /etc/default/quickstart; the unit only follows the change of that file."""
    unit = Unit(name="a.service", restart_on=("file:/etc/default/quickstart",))
    host = LocalHost({"root": str(tmp_path), "resources": [_resource_fields(unit)]})
    now = drift.digests(host)
    host.receipt["wanted"] = dict(now)
    running = {"ActiveState": "active", "UnitFileState": "enabled"}
    change = plan_unit(_resource_fields(unit), running, set(unit.restart_on), set())

    assert drift.cause(host, dict(change, id=unit.id), now) == "follows"
