"""Resources: names that systemd and the agent agree on."""

import shutil
import subprocess

import pytest

from clusterwright.provision.resources import mount_unit_name


@pytest.mark.skipif(not shutil.which("systemd-escape"), reason="systemd-escape is not installed")
@pytest.mark.parametrize("path", ["/shared", "/data/a-b", "/a/.hidden", "/.hidden", "/x+y@z", "/"])
def test_a_mount_is_named_as_systemd_names_it(path):
    """Or systemd refuses the unit."""
    done = subprocess.run(
        ["systemd-escape", "--path", "--suffix=mount", path], capture_output=True, text=True, check=True
    )

    assert mount_unit_name(path) == done.stdout.strip()
