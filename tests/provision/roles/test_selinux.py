"""SELinux left on; what the cluster needs is allowed by name."""

import pytest

from clusterwright.config.field import Cost
from clusterwright.provision.roles.selinux import selinux


@pytest.fixture
def by_id(cluster, given):
    """What the role wants, by id, for another system, mode or storage."""

    def find(os, mode="enforcing", storage=None):
        security = cluster.security.model_copy(update={"selinux": mode})
        folders = cluster.storage if storage is None else storage
        other = cluster.model_copy(update={"os": os, "security": security, "storage": folders})
        return {resource.id: resource for resource in selinux(other, other.control, given)}

    return find


@pytest.fixture
def homes(altered):
    """Homes on NFS."""
    return altered(
        {"storage": {"home": {"kind": "nfs", "path": "/home/people", "server": "control"}}, "lab": None}
    ).storage


@pytest.mark.parametrize("os", ["debian-12", "ubuntu-24.04"])
def test_where_there_is_none_nothing_is_done(by_id, os):
    """Debian and Ubuntu come without."""
    assert by_id(os) == {}


@pytest.mark.parametrize("mode", ["enforcing", "permissive"])
def test_the_mode_is_what_the_file_says_from_the_next_boot(by_id, mode):
    """And nothing switches it off meanwhile."""
    found = by_id("rocky-9", mode)
    config = found["file:/etc/selinux/config"]
    orders = [line for line in config.content.splitlines() if not line.startswith("#")]

    assert orders == ["", f"SELINUX={mode}", "SELINUXTYPE=targeted"]
    assert config.cost is Cost.REBOOT
    assert not [name for name in found if name.startswith("unit:")]


def test_homes_on_nfs_need_a_boolean(by_id, homes):
    """Or sshd finds no key; asked first, set to stay, no error where SELinux is off."""
    unit = by_id("alma-8", storage=homes)["file:/etc/systemd/system/clusterwright-selinux.service"].content

    assert "selinuxenabled || exit 0" in unit
    assert "setsebool -P use_nfs_home_dirs=on" in unit
    assert "setenforce" not in unit
