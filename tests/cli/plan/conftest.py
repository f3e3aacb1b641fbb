"""Commands of `wright plan` as a user gives them, where no catalog of one's own lies about."""

import pytest

from clusterwright.cli import app
from clusterwright.errors import WrightError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A folder without a catalog of its own, and a home without one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture
def plan(capsys):
    """The command as it is parsed: exit code, stdout and stderr."""

    def run(*arguments):
        try:
            code = app()(["plan", *map(str, arguments)], result_action="return_value")
            told = ""
        except WrightError as why:
            code, told = why.exit_code, str(why)
        said = capsys.readouterr()
        return code, said.out, said.err + told

    return run
