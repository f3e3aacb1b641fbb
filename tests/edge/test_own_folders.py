"""Folders and files that other users could exchange, by modes and owners."""

import os
from pathlib import Path

import pytest

from clusterwright.edge.own_folders import create_own_folder, exchangeable_step
from clusterwright.errors import WrightError
from clusterwright.launch.local import create_runs_folder

MALLORY, TEAM = 64001, 64100
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to other users")


class RefusedError(Exception):
    """A step that is refused."""


def refusal(step, risk):
    """The error that the tests expect."""
    return RefusedError(f"{Path(step.path).name} {risk}")


def of_mallory(path, mode):
    """A folder of another user."""
    path.mkdir()
    os.chown(path, MALLORY, MALLORY)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o1777])
def test_runs_are_not_stored_where_another_user_could_exchange_them(tmp_path, mode):
    """Also not below a sticky folder of that user, who may rename what is in it."""
    folder = of_mallory(tmp_path / "runs", mode)
    for runs in (folder, folder / "mine"):
        with pytest.raises(WrightError, match="runs-exchangeable") as refused:
            create_runs_folder(runs)
        assert str(folder) in str(refused.value)
    assert list(folder.iterdir()) == []


def test_runs_are_not_stored_behind_a_link_of_another_user(tmp_path):
    """Its user can let it lead elsewhere later."""
    (tmp_path / "own").mkdir()
    (tmp_path / "runs").symlink_to("own")
    os.lchown(tmp_path / "runs", MALLORY, MALLORY)

    with pytest.raises(WrightError, match="runs-exchangeable"):
        create_runs_folder(tmp_path / "runs")


def test_folders_of_a_group_and_sticky_ones_hold_runs(tmp_path):
    """As a team's project folder and a cluster's folder of runs; without the sticky bit no folder of all users does."""
    for name, mode in (("team", 0o2775), ("shared", 0o1777)):
        (tmp_path / name).mkdir()
        os.chown(tmp_path / name, 0, TEAM)
        (tmp_path / name).chmod(mode)
        assert create_runs_folder(tmp_path / name) == tmp_path / name
        assert create_runs_folder(tmp_path / name / "alice/runs").is_dir()
        with pytest.raises(RefusedError, match=name):
            create_own_folder(tmp_path / name, refusal)
    (tmp_path / "shared").chmod(0o777)
    with pytest.raises(WrightError, match="all users may write"):
        create_runs_folder(tmp_path / "shared/alice")


def test_the_first_part_of_a_path_that_others_can_change_is_named(tmp_path):
    """A folder, a link or the file itself; what is missing is nobody's."""
    own, file = tmp_path / "own", tmp_path / "own/file"
    own.mkdir()
    file.write_text("x")
    assert exchangeable_step(file) == exchangeable_step(own / "missing/file") == ""
    (own / "link").symlink_to(of_mallory(tmp_path / "mallory", 0o755))
    assert exchangeable_step(own / "link/file") == str(tmp_path / "mallory")
    file.chmod(0o666)
    assert exchangeable_step(file) == str(file)
