"""Commands of `wright plan` as a user gives them, where no catalog of one's own lies about."""

import pytest
from cyclopts import CycloptsError

from clusterwright.cli import app
from clusterwright.cli._mistakes import line_error
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
            words = ["plan", *map(str, arguments)]
            code = app()(words, result_action="return_value", exit_on_error=False, print_error=False)
            told = ""
        except WrightError as why:
            code, told = why.exit_code, str(why)
        except CycloptsError as why:
            error = line_error(why, app())
            code, told = error.exit_code, str(error)
        said = capsys.readouterr()
        return code, said.out, said.err + told

    return run
