"""A folder in which every user creates entries."""

import os

import pytest

from clusterwright.onhost.lib.shared_folder import list_shared_folder
from clusterwright.onhost.runs.run_folders import newest

ALICE, BOB, MALLORY = 1, 3, 2  # accounts that every system has
SUBORDINATE = 7_000_000  # first uid of a user namespace
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders to other users")


def create(folder, owner, *names):
    """Folders of a user."""
    for name in names:
        (folder / name).mkdir()
        os.chown(folder / name, owner, owner)


@pytest.mark.parametrize("first", [True, False])
def test_folders_of_one_user_hide_none_of_others(tmp_path, first):
    """However many, whatever their names, and whether they came before or after."""
    crowd = [f"{number:05}" for number in range(2_000)]
    create(tmp_path, MALLORY, *(crowd if first else ()))
    create(tmp_path, ALICE, "gpt", *(f"a{number}" for number in range(20)))
    create(tmp_path, BOB, "bert")
    create(tmp_path, MALLORY, *(() if first else crowd))
    names = list_shared_folder(tmp_path, 100)

    assert {"gpt", "bert"} <= set(names)
    assert len(names) == 100
    assert len(list_shared_folder(tmp_path, 5_000)) == 2_022


def test_a_user_with_many_uids_hides_no_folder_of_others(tmp_path):
    """Those of a user namespace have no account, so all of them are one owner."""
    for number in range(200):
        create(tmp_path, SUBORDINATE + number, f"m{number}", f"n{number}")
    create(tmp_path, ALICE, *(f"a{number}" for number in range(20)))
    names = list_shared_folder(tmp_path, 60)

    assert len([name for name in names if name[0] == "a"]) == 20
    assert len(names) == 60


def test_an_equal_share_is_for_owners_who_use_it(tmp_path):
    """Two users with many share what a third one leaves."""
    create(tmp_path, ALICE, *(f"a{number}" for number in range(50)))
    create(tmp_path, MALLORY, *(f"m{number}" for number in range(80)))
    create(tmp_path, BOB, "b0")
    names = list_shared_folder(tmp_path, 21)

    assert sorted(name[0] for name in names) == ["a"] * 10 + ["b"] + ["m"] * 10


def test_a_listing_ends_in_time(tmp_path):
    """With what it has by then."""
    create(tmp_path, MALLORY, *(str(number) for number in range(50)))

    assert len(list_shared_folder(tmp_path, 10, seconds=-1.0)) == 1


def test_a_run_is_found_among_a_hundred_thousand_empty_folders(tmp_path, monkeypatch):
    """By `jobs`, `status`, `cancel` and every other list of runs."""
    monkeypatch.setattr(list_shared_folder, "__defaults__", (100, 10.0))
    create(tmp_path, MALLORY, *(f"{number:05}" for number in range(1_000)))
    create(tmp_path, ALICE, "gpt")
    (tmp_path / "gpt/job.json").write_text("{}")
    os.chown(tmp_path / "gpt/job.json", ALICE, ALICE)

    assert newest(str(tmp_path)) == ["gpt"]
