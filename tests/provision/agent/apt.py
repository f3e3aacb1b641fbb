"""Parts of tests with real dpkg and apt: packages are installed into a folder that stands for a Debian host."""

import hashlib
import os
import shutil
import subprocess

import pytest

needs_apt = pytest.mark.skipif(
    not all(map(shutil.which, ("apt-get", "dpkg-deb"))) or os.getuid() != 0, reason="needs root, dpkg and apt"
)
CONTROL = (
    "Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: x <x@localhost>\nDescription: x\n"
)
CONF = """Dir "{root}";
Dir::Bin::dpkg "{bin}/dpkg";
APT::Architecture "{arch}";
APT::Sandbox::User "root";
Acquire::Languages "none";
"""
FOLDERS = (
    "etc/apt/apt.conf.d",
    "etc/apt/preferences.d",
    "var/lib/apt/lists/partial",
    "var/cache/apt/archives/partial",
    "var/log/apt",
    "var/lib/dpkg/updates",
    "var/lib/dpkg/info",
    "var/lib/dpkg/triggers",
    "repository",
    "bin",
)


class DebianRoot:
    """A root of its own, with a repository; scripts of packages run on this machine."""

    def __init__(self, root):
        self.root = root
        for folder in FOLDERS:
            (root / folder).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        (root / "etc/apt/sources.list").write_text(f"deb [trusted=yes] file:{root}/repository ./\n")
        for program, options in (("dpkg", "--force-script-chrootless"), ("dpkg-query", "")):
            path = root / "bin" / program
            path.write_text(f'#!/bin/sh\nexec {shutil.which(program)} --root={root} {options} "$@"\n')
            path.chmod(0o755)
        arch = subprocess.run(
            ["dpkg", "--print-architecture"], check=True, capture_output=True, text=True
        ).stdout.strip()
        (root / "apt.conf").write_text(CONF.format(root=root, bin=root / "bin", arch=arch))

    def publish(self, name, version="1.0", triggers="", **scripts):
        """Add a package with triggers and scripts such as `postinst` to the repository."""
        source = self.root / "source"
        shutil.rmtree(source, ignore_errors=True)
        (source / "DEBIAN").mkdir(parents=True)
        control = CONTROL.format(name=name, version=version)
        (source / "DEBIAN/control").write_text(control)
        if triggers:
            (source / "DEBIAN/triggers").write_text(triggers + "\n")
        for script, text in scripts.items():
            (source / "DEBIAN" / script).write_text(f"#!/bin/sh\n{text}\n")
            (source / "DEBIAN" / script).chmod(0o755)
        deb = self.root / "repository" / f"{name}_{version}_all.deb"
        subprocess.run(["dpkg-deb", "--build", "-Znone", source, deb], check=True, capture_output=True)
        data = deb.read_bytes()
        with (self.root / "repository/Packages").open("a") as file:
            file.write(
                f"{control}Filename: ./{deb.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n\n"
            )

    def withdraw_all(self):
        """Remove all packages from the repository."""
        (self.root / "repository/Packages").write_text("")

    def state(self, name):
        """The package's state as dpkg lists it, such as `ii`."""
        argv = [self.root / "bin/dpkg-query", "-W", "-f", "${db:Status-Abbrev}", name]
        return subprocess.run(argv, check=False, capture_output=True, text=True).stdout.strip()
