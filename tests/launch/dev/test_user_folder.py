"""The folder of a user's sessions lies among those of all users."""

import getpass
import os
from pathlib import Path

import pytest

from clusterwright.onhost.dev import requests

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to own folders as another user")


@pytest.mark.parametrize("kind", ["folder", "link", "broken link", "file"])
def test_a_name_that_another_user_took_does_not_keep_a_user_out(tmp_path, kind):
    """Another folder is found again, whatever else has such a name."""
    taken = tmp_path / f"dev-{getpass.getuser()}"
    (tmp_path / "theirs").mkdir()
    {
        "folder": taken.mkdir,
        "file": taken.touch,
        "link": lambda: taken.symlink_to("theirs"),
        "broken link": lambda: taken.symlink_to("nowhere"),
    }[kind]()
    Path(f"{taken}-0").mkdir()
    for path in tmp_path.iterdir():
        os.chown(path, 65534, 65534, follow_symlinks=False)
    first = requests.user_folder(str(tmp_path))

    assert Path(first).lstat().st_uid == os.getuid()
    assert Path(first).stat().st_mode & 0o777 == 0o700
    assert requests.user_folder(str(tmp_path)) == first
