"""A repository of packages, and a folder that stands for a Rocky host."""

import json
import os
import shutil
import subprocess

import pytest
from tests.provision.agent.dnf import ROCKY, SPEC

from clusterwright.edge.bundler import PROVISION, program_command, program_input
from clusterwright.onhost.provision import agent
from clusterwright.provision.bundle import Order, bundle


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Makes a repository of empty packages, by name and version."""

    def make(name, *rows, script=""):
        top = tmp_path_factory.mktemp(name)
        for package, version, *needs in rows:
            spec = top / f"{package}.spec"
            requires = "".join(f"Requires: {need}\n" for need in needs)
            parts = {"requires": requires, "script": script.replace("{version}", version)}
            spec.write_text(SPEC.format(name=package, version=version, **parts))
            subprocess.run(
                ["rpmbuild", "-bb", "--quiet", "--define", f"_topdir {top}/build", "--define", f"_rpmdir {top}", spec],
                check=True, capture_output=True,
            )  # fmt: skip
        subprocess.run(["createrepo_c", "--quiet", top], check=True, capture_output=True)
        return f"file://{top}"

    return make


@pytest.fixture
def rocky(tmp_path, monkeypatch):
    """Runs the agent against a folder in which only os-release is there."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/os-release").write_text(ROCKY)
    # Debian's dnf-plugins-core comes with a plugin switched on that keeps packages in a repository of its own.
    wrapper = tmp_path / "bin/dnf"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("dnf")} --disableplugin=local "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")

    def run(mode, *resources, when="100"):
        data = program_input(PROVISION) + bundle(Order(mode, "cluster.yaml", when, "", str(root)), resources)
        done = subprocess.run(
            ["sh", "-c", program_command()], input=data, capture_output=True, check=False, timeout=120
        )
        lines = [line for line in done.stdout.decode().splitlines() if line.startswith(agent.ANSWER)]
        return json.loads(lines[-1].removeprefix(agent.ANSWER))

    run.root = root
    return run
