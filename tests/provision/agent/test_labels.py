"""Labels of SELinux on what is written; a restorecon that notes what it was asked stands for the real one."""

from pathlib import Path

import pytest

from clusterwright.onhost.provision import files
from clusterwright.onhost.provision.host import LocalHost


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host below a folder, with a restorecon."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "restorecon").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\n')
    (tools / "restorecon").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    (tmp_path / "asked").write_text("")
    host = LocalHost(
        {"root": str(tmp_path / "root"), "resources": [], "mode": "apply", "when": "1", "source": "c"}
    )
    host.asked = lambda: (tmp_path / "asked").read_text().splitlines()
    return host


def link(host):
    """A link, made."""
    files.do_symlink(host, {"path": "/etc/localtime", "target": "/usr/share/zoneinfo/UTC"})
    return host.resolve_path("/etc/localtime")


def test_where_selinux_is_a_new_name_gets_the_label_of_its_place(host):
    """A file that was renamed into a folder would keep the folder's own."""
    enforce = Path(host.resolve_path("/sys/fs/selinux/enforce"))
    enforce.parent.mkdir(parents=True)
    enforce.write_text("1")
    path = link(host)

    assert host.asked() == [path]


def test_elsewhere_nobody_is_asked(host):
    """Debian and Ubuntu have the program in some installations, and no labels."""
    link(host)

    assert host.asked() == []
