"""The library of jobs beside the runs: whose folder it may be in."""

import os
import shutil

import pytest

from clusterwright.edge.host import Host
from clusterwright.edge.ssh import LocalMachine
from clusterwright.errors import WrightError
from clusterwright.launch.unmanaged.library import install_library, library_folder

HOST = Host(LocalMachine(), "localhost")
MALLORY = 64001


def install(runs):
    """Install it, twice."""
    install_library(HOST, str(runs))
    install_library(HOST, str(runs))
    assert os.path.isfile(f"{library_folder(str(runs))}/clusterwright/__init__.py")


def test_a_library_is_written_once_into_folders_of_the_user(tmp_path):
    """Also below a folder that all users may write, if it has the sticky bit."""
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch").chmod(0o1777)
    install(tmp_path / "scratch/alice wright/runs")
    install(tmp_path / "scratch/alice wright/runs")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to another user")
@pytest.mark.parametrize("taken", ["", "runs", "runs/.library", "runs/.library/VERSION"])
def test_what_another_user_created_first_is_never_executed(tmp_path, taken):
    """Whichever folder of the path it is: a job would run its programs as the user."""
    scratch = tmp_path / "scratch"
    runs = scratch / "runs"
    folder = scratch / taken.replace("VERSION", os.path.basename(library_folder(str(runs))))
    folder.mkdir(parents=True)
    scratch.chmod(0o1777)
    os.chown(folder, MALLORY, MALLORY)
    folder.chmod(0o777)

    with pytest.raises(WrightError, match="runs-exchangeable") as refused:
        install_library(HOST, str(runs))
    assert str(folder) in str(refused.value).replace("\n", " ")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a link to another user")
def test_a_link_of_another_user_leads_to_no_library(tmp_path):
    """Also if it leads to the user's own folder now."""
    install(tmp_path / "own/runs")
    (tmp_path / "link").symlink_to("own")
    install(tmp_path / "link/runs")
    os.lchown(tmp_path / "link", MALLORY, MALLORY)
    with pytest.raises(WrightError, match="runs-exchangeable"):
        install_library(HOST, f"{tmp_path}/link/runs")
    shutil.rmtree(tmp_path / "own")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a link to another user")
@pytest.mark.parametrize("kind", ["absolute", "relative"])
def test_a_link_between_two_links_is_checked_too(tmp_path, kind):
    """The user's link leads to a link of another user, which leads to the user's folder for now."""
    (tmp_path / "own").mkdir()
    (tmp_path / "sticky").mkdir()
    (tmp_path / "middle").symlink_to(tmp_path / "own")
    (tmp_path / "link").symlink_to(tmp_path / "middle" if kind == "absolute" else "sticky/../middle")
    install(tmp_path / "link/runs")
    os.lchown(tmp_path / "middle", MALLORY, MALLORY)
    with pytest.raises(WrightError, match="middle"):
        install_library(HOST, f"{tmp_path}/link/runs")
