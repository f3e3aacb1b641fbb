"""The folder of runs: written by the user, seen by a node."""

import pytest

from clusterwright.edge.host import Host
from clusterwright.edge.ssh import LocalMachine
from clusterwright.errors import WrightError
from clusterwright.launch.unmanaged.shared import find_shared

HOST = Host(LocalMachine(), "localhost")


def test_the_first_folder_that_a_node_sees_is_taken(login_host, monkeypatch, tmp_path):
    """A scratch folder that only the login host has is passed over; nothing is left in either."""
    local = tmp_path / "local scratch"
    local.mkdir()
    monkeypatch.setenv("SCRATCH", str(local))
    assert find_shared(HOST, None) == f"{local}/wright"
    # Of this node's answer only what lies in the home stays.
    login_host.srun('while [ "$1" != sh ]; do shift; done; "$@" | grep home')
    assert find_shared(HOST, None) == f"{login_host.home}/wright"
    assert [path.name for path in local.rglob("*")] == ["wright"]
    assert list((login_host.home / "wright").iterdir()) == []


def test_a_folder_that_no_node_sees_is_refused(login_host):
    """The nodes' answer counts, and the fix names the variable."""
    login_host.srun("exit 0")
    with pytest.raises(WrightError, match="do not see") as error:
        find_shared(HOST, None)
    assert error.value.code == "folder-not-shared"
    assert "CLUSTERWRIGHT_SHARED" in error.value.findings[0].fix


def test_while_no_node_is_free_the_file_system_decides(login_host):
    """A local file system is refused: no node has shown it."""
    login_host.srun("exit 1")
    with pytest.raises(WrightError, match="no node was free"):
        find_shared(HOST, None)
    login_host.program("stat", '#!/bin/sh\necho "nfs"\n')
    assert find_shared(HOST, None) == f"{login_host.home}/wright"


def test_a_folder_that_cannot_be_written_is_an_error(login_host, tmp_path):
    """A file is in its place."""
    (tmp_path / "file").write_text("")
    with pytest.raises(WrightError) as error:
        find_shared(HOST, str(tmp_path / "file"))
    assert error.value.code == "no-runs-folder"
    assert login_host.asked == 0


def test_the_answer_of_a_node_names_no_other_folder(login_host):
    """Lines of a prolog or a banner are no folder."""
    login_host.srun("echo /etc; echo welcome")
    with pytest.raises(WrightError, match="do not see"):
        find_shared(HOST, None)
