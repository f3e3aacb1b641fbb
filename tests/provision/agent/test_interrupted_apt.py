"""Interrupted installations by real dpkg and apt, in a folder that stands for a Debian host."""

import os
import signal
import subprocess
import time

import pytest
from tests.provision.agent.apt import DebianRoot, needs_apt

from clusterwright.onhost.lib.processes import Result
from clusterwright.onhost.provision import agent, apt, packages
from clusterwright.onhost.provision.host import ChangeError, LocalHost, run

LIMIT_S = 4  # in place of 900 s

STATUS = """Package: slow-thing
Status: install ok installed
Maintainer: x <x@localhost>
Architecture: all
Version: {}
Description: x

"""


@pytest.fixture
def dpkg(tmp_path, monkeypatch):
    """The state of dpkg after SIGKILL between two packages: one update of its status is not merged."""
    for folder in ("updates", "info", "triggers", "parts"):
        (tmp_path / "dpkg" / folder).mkdir(parents=True)
    for name in ("available", "diversions", "statoverride", "info/slow-thing.list"):
        (tmp_path / "dpkg" / name).touch()
    (tmp_path / "dpkg/status").write_text(STATUS.format("1.0"))
    (tmp_path / "dpkg/updates/0000").write_text(STATUS.format("1.1"))
    (tmp_path / "apt.conf").write_text(f'Dir::State::status "{tmp_path}/dpkg/status";\n')
    monkeypatch.setenv("DPKG_ADMINDIR", str(tmp_path / "dpkg"))
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    monkeypatch.setattr(apt, "UPDATES", str(tmp_path / "dpkg/updates"))
    return tmp_path / "dpkg"


@needs_apt
def test_an_installation_that_left_only_updates_of_the_status_is_completed(dpkg):
    """No package is in a state that tells it, and apt refuses all the same, also to download."""
    download = ["apt-get", "install", "--fix-broken", "--download-only", "-y"]

    assert apt.interrupted_packages() == []
    assert "dpkg was interrupted" in run(download).out
    assert apt.was_interrupted()

    apt.complete_interrupted()

    assert run(download).ok
    assert not apt.was_interrupted()
    assert (dpkg / "status").read_text() == STATUS.format("1.1")


def test_an_interrupted_package_has_an_hour_to_be_configured_and_is_named(monkeypatch):
    """Its script was ended after 900 s; with the same limit, no later apply would succeed."""
    asked = []

    def run(argv, limit=60):
        asked.append((argv[0], limit))
        listed = "iF  1 slow-thing\nii  1 fine\nhi  1 held\n"
        return Result(0, listed, "") if argv[0] == "dpkg-query" else Result(1, "", "")

    monkeypatch.setattr(apt, "run", run)
    with pytest.raises(ChangeError, match="remains, of slow-thing"):
        packages.apt_get([{"name": "vim", "version": ""}])

    assert ("dpkg", 3600) in asked
    assert "apt-get" not in [program for program, _ in asked]


def package(name):
    """A package of the desired state."""
    return {
        "kind": "package",
        "id": f"package:{name}",
        "name": name,
        "version": "",
        "built_for": "",
        "place_of": [],
        "cost": "live",
        "early": False,
        "set_name": "",
    }


@pytest.fixture
def debian(tmp_path, monkeypatch):
    """A Debian root in which packages cwfirst and cwother can be installed, with limits of seconds."""
    root = DebianRoot(tmp_path / "debian")
    monkeypatch.setenv("PATH", f"{root.root}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("APT_CONFIG", f"{root.root}/apt.conf")
    monkeypatch.setattr(apt, "UPDATES", f"{root.root}/var/lib/dpkg/updates")
    monkeypatch.setattr(apt, "LOCK", f"{root.root}/var/lib/dpkg/lock-frontend")
    monkeypatch.setattr(apt, "INSTALL_S", LIMIT_S)
    monkeypatch.setattr(apt, "LOCKED_S", 2)
    monkeypatch.setattr(apt, "APT", (*apt.APT, "-o", "DPkg::Lock::Timeout=2"))
    root.publish("cwother")
    return root


def install(*names):
    """Install as an apply does."""
    host = LocalHost({"root": "", "resources": [package(name) for name in names]})
    packages.install_packages(host)


@needs_apt
def test_the_limit_of_an_installation_ends_dpkg_too(debian, monkeypatch):
    """Otherwise a script without end has dpkg's lock, and each later apply fails, also for other packages."""
    debian.publish("cwfirst", postinst='[ -z "$SLOW" ] || sleep 1000')
    monkeypatch.setenv("SLOW", "1")
    monkeypatch.setattr(apt, "CONFIGURE_S", LIMIT_S)
    with pytest.raises(ChangeError):
        install("cwfirst")
    assert not scripts_of("cwfirst")

    monkeypatch.delenv("SLOW")
    install("cwother")

    assert (debian.state("cwfirst"), debian.state("cwother")) == ("ii", "ii")


SLOW = "sleep 6"  # longer than LIMIT_S


@needs_apt
@pytest.mark.parametrize("script", ["preinst", "postinst"])
def test_a_script_has_more_time_than_a_download(debian, script):
    """Killed by the limit of a download, some packages would never be complete."""
    debian.publish("cwfirst", **{script: SLOW})

    install("cwfirst")

    assert debian.state("cwfirst") == "ii"


@needs_apt
def test_a_package_whose_old_version_ends_slowly_is_upgraded(debian):
    """Its prerm once exceeded the limit in each apply."""
    debian.publish("cwfirst", prerm=SLOW)
    install("cwfirst")
    debian.publish("cwfirst", "2.0")
    run(["apt-get", "update"])

    packages.apt_get([{"name": "cwfirst", "version": "2.0"}])

    argv = [debian.root / "bin/dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", "cwfirst"]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "ii 2.0"


def host_with(*names):
    """A host whose cluster file has these packages."""
    return LocalHost({"root": "", "resources": [package(name) for name in names]})


@needs_apt
def test_a_trigger_that_was_interrupted_is_planned_and_completed(debian, monkeypatch):
    """The desired package is installed, and the one whose trigger was interrupted is none of the cluster file."""
    debian.publish(
        "cwtrigger", triggers="interest-noawait cw", postinst='[ "$1" != triggered ] || sleep "$CW_S"'
    )
    debian.publish("cwfirst", triggers="activate-noawait cw")
    monkeypatch.setenv("CW_S", "1000")
    run(["apt-get", "update"])
    run(["apt-get", "install", "-y", *apt.APT, "cwtrigger"])
    assert run(["apt-get", "install", "-y", *apt.APT, "cwfirst"], LIMIT_S).stopped
    assert debian.state("cwfirst") == "ii"
    host = host_with("cwfirst")
    monkeypatch.setenv("CW_S", "0")

    assert packages.plan_packages(host) == []
    [change] = packages.plan_interrupted(host)
    assert change["summary"].startswith("complete an interrupted installation of ")
    agent.make(host, change)

    assert packages.plan_interrupted(host) == []
    audit = subprocess.run([debian.root / "bin/dpkg", "--audit"], capture_output=True, text=True, check=False)
    assert (audit.stdout, os.listdir(debian.root / "var/lib/dpkg/updates")) == ("", [])


@needs_apt
def test_an_installation_whose_scripts_exceed_their_limit_is_completed_by_the_same_apply(
    debian, monkeypatch, tmp_path
):
    """The script is faster the second time: it has done most of its work."""
    debian.publish("cwfirst", postinst=f"[ -e {tmp_path}/half ] || {{ touch {tmp_path}/half; sleep 1000; }}")
    monkeypatch.setattr(apt, "CONFIGURE_S", LIMIT_S)

    with pytest.raises(ChangeError, match="exited with code"):
        install("cwfirst")

    assert (debian.state("cwfirst"), packages.plan_interrupted(host_with("cwfirst"))) == ("ii", [])


@needs_apt
def test_an_installation_in_progress_is_not_interrupted(debian):
    """Unattended upgrades run at any time."""
    debian.publish("cwfirst", postinst="sleep 6")
    run(["apt-get", "update"])
    other = subprocess.Popen(["apt-get", "install", "-y", *apt.APT, "cwfirst"], stdout=subprocess.DEVNULL)
    try:
        while not apt.was_interrupted() and other.poll() is None:
            time.sleep(0.05)
        assert apt.was_interrupted()
        assert packages.plan_interrupted(host_with("cwother")) == []
    finally:
        other.wait()


def scripts_of(name):
    """The running scripts with this name."""
    listed = subprocess.run(["ps", "-ww", "-eo", "args"], check=True, capture_output=True, text=True).stdout
    return [line for line in listed.splitlines() if name in line and "/debian/" in line]


def interrupt(debian, name):
    """Install a package, and end dpkg in its preinst."""
    process = subprocess.Popen(
        ["apt-get", "install", "-y", *apt.APT, name],
        env={**os.environ, "SLOW": "1"},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 20
    while not scripts_of("tmp.ci/preinst") and time.monotonic() < end:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@needs_apt
def test_a_package_that_was_interrupted_while_it_was_unpacked_is_installed_again(debian):
    """Dpkg configures no such package, and apt succeeds without it."""
    debian.publish("cwfirst", preinst='[ -z "$SLOW" ] || sleep 1000')
    run(["apt-get", "update"])
    interrupt(debian, "cwfirst")
    assert debian.state("cwfirst") == "iHR"

    install("cwfirst", "cwother")

    assert (debian.state("cwfirst"), debian.state("cwother")) == ("ii", "ii")


@needs_apt
def test_an_interrupted_package_that_no_repository_has_anymore_is_named_with_the_fix(debian):
    """Apt installs no other package until it is removed; the command that the error names does it."""
    debian.publish("cwfirst", preinst='[ -z "$SLOW" ] || sleep 1000')
    run(["apt-get", "update"])
    interrupt(debian, "cwfirst")
    debian.withdraw_all()
    debian.publish("cwother", "1.1")
    with pytest.raises(
        ChangeError, match=r"remains, of cwfirst:(?s:.*)dpkg --remove --force-remove-reinstreq"
    ):
        install("cwother")

    assert run(["dpkg", "--remove", "--force-remove-reinstreq", "cwfirst"]).ok
    install("cwother")
    assert debian.state("cwother") == "ii"


@needs_apt
def test_an_interrupted_removal_is_completed(debian):
    """It is not installed again."""
    debian.publish("cwfirst")
    install("cwfirst")
    status = debian.root / "var/lib/dpkg/status"
    status.write_text(
        status.read_text().replace("install ok installed", "deinstall reinstreq half-installed")
    )
    assert debian.state("cwfirst") == "rHR"
    install("cwother")

    assert (debian.state("cwfirst"), debian.state("cwother")) == ("", "ii")


@needs_apt
def test_the_lock_of_another_dpkg_is_waited_for_and_named(debian):
    """The message has its process, not a time that was not waited."""
    debian.publish("cwfirst", postinst='[ -z "$SLOW" ] || sleep 1000')
    run(["apt-get", "update"])
    run(["env", "SLOW=1", "timeout", "-s", "KILL", "5", "apt-get", "install", "-y", *apt.APT, "cwfirst"])
    other = subprocess.Popen(
        ["dpkg", "--configure", "-a"], env={**os.environ, "SLOW": "1"}, start_new_session=True
    )
    try:
        while not scripts_of("cwfirst"):
            time.sleep(0.05)
        with pytest.raises(
            ChangeError, match=rf"remains, of cwfirst:(?s:.*)locked by another process with pid {other.pid}"
        ):
            install("cwother")
    finally:
        os.killpg(other.pid, signal.SIGKILL)
        other.wait()
    install("cwother")

    assert (debian.state("cwfirst"), debian.state("cwother")) == ("ii", "ii")


@needs_apt
def test_what_dpkg_did_not_install_is_an_error(debian, monkeypatch):
    """Whatever apt's exit code is."""
    monkeypatch.setattr(packages, "apt_get", lambda todo: None)
    with pytest.raises(ChangeError, match="did not install cwother"):
        install("cwother")
