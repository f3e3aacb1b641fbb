"""Parts of tests with real rpm and dnf: packages are installed into a folder that stands for a Rocky host."""

import os
import shutil

import pytest

from clusterwright.onhost.provision.host import LocalHost

PROGRAMS = ("rpmbuild", "dnf", "createrepo_c")
MISSING = [name for name in PROGRAMS if not shutil.which(name)]
needs_dnf = pytest.mark.skipif(
    bool(MISSING) or os.getuid() != 0,
    reason=f"not root, or missing: {MISSING} (apt-get install rpm dnf createrepo-c)",
)
SPEC = """Name: {name}
Version: {version}
Release: 1
Summary: Nothing
License: none
BuildArch: noarch
{requires}
%description
Nothing.
%files
{script}"""
ROCKY = 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n'


def what(answer):
    """What was or would be done, by id, files aside."""
    assert answer["error"] == ""
    return {row["id"]: row["summary"] for row in answer["changes"] if not row["id"].startswith("file:")}


def host_of(rocky):
    """The folder as the agent sees it."""
    return LocalHost({"root": str(rocky.root), "resources": []})
