import getpass
import os
import tempfile

import pytest

from clusterwright.onhost.supervisor.host import private


@pytest.fixture
def secrets_file(tmp_path, monkeypatch):
    """The user's file, in a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / ".config" / "clusterwright" / "secrets.env"
    path.parent.mkdir(parents=True)
    return path


def test_no_file_means_no_secrets(secrets_file):
    """Most jobs have none."""
    assert private.secrets_of_user() == {}


def test_names_and_values_are_read_as_they_stand(secrets_file):
    """No shell reads them: quotes and dollars are part of the value."""
    secrets_file.write_text("# a comment\nWANDB_API_KEY=a$b='c\n\n")
    secrets_file.chmod(0o600)

    assert private.secrets_of_user() == {"WANDB_API_KEY": "a$b='c"}


def test_a_file_that_others_can_read_is_refused(secrets_file):
    """The fix is in the message."""
    secrets_file.write_text("A=b\n")
    secrets_file.chmod(0o644)

    with pytest.raises(PermissionError, match="chmod 600"):
        private.secrets_of_user()


def foreign(path):
    """Of another user, who may write in it."""
    path.mkdir()
    os.chown(path, 65534, 65534)


def link(path):
    """Of another user, to a folder of the first one."""
    path.with_name("elsewhere").mkdir()
    path.symlink_to("elsewhere")


def shared(path):
    """Of the user, but all can write in it."""
    path.mkdir()
    path.chmod(0o777)


@pytest.mark.skipif(os.getuid() != 0, reason="the folder of another user is created as root")
@pytest.mark.parametrize("make", [foreign, link, shared])
def test_compiled_code_of_another_user_is_not_used(tmp_path, monkeypatch, make):
    """The cache is unpickled, and anybody can create its default folder in /tmp first."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    make(tmp_path / f"torchinductor_{getpass.getuser()}")

    folder = private.compile_cache({})["TORCHINDUCTOR_CACHE_DIR"]
    assert folder == f"{tmp_path}/home/.cache/torchinductor"
    assert os.stat(folder).st_mode & 0o777 == 0o700

    os.chmod(folder, 0o777)
    other = private.compile_cache({})["TORCHINDUCTOR_CACHE_DIR"]
    assert other not in (folder, f"{tmp_path}/torchinductor_{getpass.getuser()}")
    assert os.stat(other).st_mode & 0o777 == 0o700


def test_a_private_cache_of_compiled_code_stays(tmp_path, monkeypatch):
    """It is the default of torch, also on the next call; a value that the user has set is not changed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = f"{tmp_path}/torchinductor_{getpass.getuser()}"

    for _ in range(2):
        assert private.compile_cache({}) == {"TORCHINDUCTOR_CACHE_DIR": folder}
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert private.compile_cache({"TORCHINDUCTOR_CACHE_DIR": "/x"}) == {}
