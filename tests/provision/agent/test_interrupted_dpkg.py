"""Interrupted installations by real apt and dpkg, from a repository made here, in a root of their own."""

import hashlib
import os
import shutil
import subprocess
import textwrap

import pytest

from clusterwright.onhost.provision import packages
from clusterwright.onhost.provision.host import ChangeError, run

pytestmark = [
    pytest.mark.skipif(not shutil.which("apt-get") or os.geteuid() != 0, reason="needs root, dpkg and apt"),
    pytest.mark.timeout(120),
]
STATUS = """\
Package: {name}
Status: {status}
Maintainer: x <x@localhost>
Architecture: all
Version: {version}
Description: x

"""
CONF = """\
Dir "{root}";
Dir::Bin::dpkg "{root}/bin/dpkg";
Acquire::AllowInsecureRepositories "true";
APT::Get::AllowUnauthenticated "true";
APT::Sandbox::User "root";
"""


class DpkgRoot:
    """A root with dpkg's state, apt's lists and a repository."""

    def __init__(self, path):
        self.path = path
        for folder in ("updates", "info", "triggers", "parts"):
            (path / "var/lib/dpkg" / folder).mkdir(parents=True)
        for folder in (
            "etc/apt/apt.conf.d",
            "etc/apt/preferences.d",
            "var/lib/apt/lists/partial",
            "var/cache/apt/archives/partial",
            "var/log/apt",
            "bin",
            "repository",
        ):
            (path / folder).mkdir(parents=True)
        for name in ("status", "available", "diversions", "statoverride"):
            (path / "var/lib/dpkg" / name).touch()
        (path / "etc/apt/sources.list").write_text(f"deb [trusted=yes] file:{path}/repository ./\n")
        (path / "apt.conf").write_text(CONF.format(root=path))
        options = f"--root={path} --force-script-chrootless --force-not-root --force-bad-path"
        for name in ("dpkg", "dpkg-query"):
            program = path / "bin" / name
            option = options if name == "dpkg" else f"--admindir={path}/var/lib/dpkg"
            program.write_text(f'#!/bin/sh\nexec /usr/bin/{name} {option} "$@"\n')
            program.chmod(0o755)

    def status(self, *rows):
        """Set dpkg's state of packages: name, status, version."""
        text = "".join(
            STATUS.format(name=name, status=status, version=version) for name, status, version in rows
        )
        (self.path / "var/lib/dpkg/status").write_text(text)
        for name, _, _ in rows:
            (self.path / f"var/lib/dpkg/info/{name}.list").touch()

    def publish(self, name, postinst="exit 0"):
        """Build a package and add it to the repository."""
        folder = self.path / "build" / name / "DEBIAN"
        folder.mkdir(parents=True)
        control = STATUS.format(name=name, status="", version="2.0").replace("Status: \n", "").strip() + "\n"
        (folder / "control").write_text(control)
        (folder / "postinst").write_text(f"#!/bin/sh\n{postinst}\n")
        (folder / "postinst").chmod(0o755)
        deb = self.path / "repository" / f"{name}.deb"
        subprocess.run(["dpkg-deb", "-b", folder.parent, deb], check=True, stdout=subprocess.DEVNULL)
        data = deb.read_bytes()
        with (self.path / "repository/Packages").open("a") as file:
            digest = hashlib.sha256(data).hexdigest()
            file.write(f"{control}Filename: ./{name}.deb\nSize: {len(data)}\nSHA256: {digest}\n\n")
        assert run(["apt-get", "update"]).ok

    def states(self):
        """Return the state of each package as dpkg lists it."""
        lines = run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\\n"]).out.splitlines()
        return dict(line.split() for line in lines)


@pytest.fixture
def dpkg(tmp_path, monkeypatch):
    """The programs of a root of its own, found first."""
    root = DpkgRoot(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    monkeypatch.setattr(packages, "UPDATES", str(tmp_path / "var/lib/dpkg/updates"))
    return root


def test_an_installation_that_left_only_updates_of_the_status_is_completed(dpkg):
    """No package is in a state that tells it, and apt refuses all the same, also to download."""
    download = ["apt-get", "install", "--fix-broken", "--download-only", "-y"]
    dpkg.status(("slow", "install ok installed", "1.0"))
    (dpkg.path / "var/lib/dpkg/updates/0000").write_text(
        STATUS.format(name="slow", status="install ok installed", version="1.1")
    )

    assert packages.interrupted_packages() == []
    assert "dpkg was interrupted" in run(download).out
    assert packages.was_interrupted()

    packages.configure_interrupted()

    assert run(download).ok
    assert not packages.was_interrupted()
    assert "Version: 1.1" in (dpkg.path / "var/lib/dpkg/status").read_text()


def test_a_script_without_end_ends_with_apt_and_leaves_no_lock(dpkg, monkeypatch):
    """With a terminal of its own, dpkg would go on and hold its lock against each later apply."""
    marker = dpkg.path / "go-on"
    dpkg.publish("slow", textwrap.dedent(f"[ -e {marker} ] || exec sleep 1000.{os.getpid()}"))
    monkeypatch.setattr(packages, "INSTALL_S", 4)
    with pytest.raises(ChangeError):
        packages.apt_get([{"name": "slow", "version": ""}])

    assert run(["pgrep", "-f", f"sleep 1000.{os.getpid()}"]).out == ""
    assert dpkg.states() == {"slow": "iF"}

    marker.touch()
    packages.apt_get([{"name": "slow", "version": ""}])

    assert dpkg.states() == {"slow": "ii"}


def test_a_half_installed_package_is_installed_again(dpkg):
    """Killed while it unpacked: neither `dpkg --configure` nor `apt-get install` completes that."""
    dpkg.publish("broken")
    dpkg.publish("other")
    dpkg.status(("broken", "install reinstreq half-installed", "2.0"))
    packages.apt_get([{"name": "other", "version": ""}])

    assert dpkg.states() == {"broken": "ii", "other": "ii"}


def test_a_half_installed_package_without_an_archive_is_named(dpkg):
    """Its repository may have withdrawn it."""
    dpkg.publish("other")
    dpkg.status(("broken", "install reinstreq half-installed", "2.0"))

    with pytest.raises(ChangeError, match=r"did not configure broken:\n[^$]*archive"):
        packages.apt_get([{"name": "other", "version": ""}])
