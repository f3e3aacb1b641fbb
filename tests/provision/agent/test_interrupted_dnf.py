"""Installations by real dnf that are killed in the middle, and completed by the next apply."""

import os
import signal
import subprocess
import time

import pytest
from tests.provision.agent.dnf import host_of, needs_dnf, what

from clusterwright.onhost.lib.processes import Result
from clusterwright.onhost.provision import packages
from clusterwright.onhost.provision.host import ChangeError
from clusterwright.onhost.provision.interrupted_dnf import STARTED
from clusterwright.provision.resources import Package

# Lua runs within rpm, so the root needs no shell.
SLOW = """%post -p <lua>
io.open("/etc/began-{version}", "w"):close()
while io.open("/etc/slow") do end
io.open("/etc/done-{version}", "w"):close()
"""

pytestmark = needs_dnf


@pytest.fixture
def killed(rocky, monkeypatch):
    """`killed(version)` installs that version of the slow package and kills dnf while its script runs."""

    def run_until_script(version):
        def run(argv, limit=60):
            dnf = subprocess.Popen(argv, start_new_session=True, stdout=subprocess.DEVNULL)
            end = time.monotonic() + 60
            while not (rocky.root / f"etc/began-{version}").exists() and time.monotonic() < end:
                time.sleep(0.05)
            os.killpg(dnf.pid, signal.SIGKILL)
            dnf.wait()
            return Result(124, "", "", stopped=f"overran {limit} s")

        (rocky.root / "etc/slow").touch()
        with monkeypatch.context() as patch:
            patch.setattr(packages, "run", run)
            with pytest.raises(ChangeError):
                packages.dnf_install(host_of(rocky), [wanted(version)])
        (rocky.root / "etc/slow").unlink()
        assert not (rocky.root / f"etc/done-{version}").exists()

    return run_until_script


@pytest.fixture
def slow(rocky, repository):
    """A repository with two versions of a package whose script waits."""
    url = repository("slow", ("slow", "1.0"), ("slow", "2.0"), script=SLOW)
    folder = rocky.root / "etc/yum.repos.d"
    folder.mkdir()
    (folder / "slow.repo").write_text(f"[slow]\nname=slow\nbaseurl={url}\ngpgcheck=0\n")


def wanted(version):
    """As the agent reads it."""
    return {"name": "slow", "version": version, "built_for": "", "set_name": "", "place_of": []}


def versions(rocky):
    """Of the slow package, in rpm's database."""
    argv = ["rpm", "--root", rocky.root, "-q", "slow"]
    return sorted(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.usefixtures("slow")
def test_an_interrupted_installation_is_pending_and_is_completed(rocky, killed):
    """The package is in rpm's database, but its script has not ended."""
    killed("1.0")
    package = Package(name="slow", version="1.0")

    assert what(rocky("check", package)) == {"package:slow": "install"}
    assert what(rocky("apply", package)) == {"package:slow": "install"}
    assert (rocky.root / "etc/done-1.0").exists()
    assert what(rocky("check", package)) == {}


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("set_name", ["", "driver"])
def test_an_interrupted_upgrade_leaves_one_version(set_name, rocky, killed):
    """Both versions are in rpm's database until then; alone and in a set."""
    old, new = (Package(name="slow", version=version, set_name=set_name) for version in ("1.0", "2.0"))
    assert what(rocky("apply", old)) == {"package:slow": "install"}
    killed("2.0")
    assert versions(rocky) == ["slow-1.0-1.noarch", "slow-2.0-1.noarch"]

    assert what(rocky("apply", new, when="200")) == {"package:slow": "install"}
    assert versions(rocky) == ["slow-2.0-1.noarch"]
    assert (rocky.root / "etc/done-2.0").exists()
    assert what(rocky("check", new)) == {}


@pytest.mark.usefixtures("slow")
def test_what_cannot_be_completed_is_named(rocky, killed):
    """With the package, until it is completed."""
    killed("1.0")
    repository = rocky.root / "etc/yum.repos.d/slow.repo"
    text = repository.read_text()
    repository.write_text("")
    package = Package(name="slow", version="1.0")
    answers = [rocky("apply", package, when=when)["error"] for when in ("200", "300")]

    assert all("an installation by dnf was interrupted" in answer for answer in answers)
    assert all("on the host for slow" in answer for answer in answers)
    repository.write_text(text)
    assert rocky("apply", package, when="400")["error"] == ""
    assert not (rocky.root / STARTED.lstrip("/")).exists()
