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
