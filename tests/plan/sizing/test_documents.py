"""The commands of docs/concepts/sizing.md run as they stand there."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from clusterwright.cli import app

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "concepts" / "sizing.md").read_text()
COMMANDS = re.findall(r"^\$ wright (plan .+)$", PAGE, flags=re.MULTILINE)


def test_there_are_commands():
    """Of all that the page is about."""
    assert {command.split()[1] for command in COMMANDS} == {"size", "cost"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_runs(command, tmp_path, monkeypatch, capsys):
    """In a folder with a cluster file, and it ends well."""
    shutil.copy(ROOT / "examples" / "a100" / "cluster.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)

    assert app()(shlex.split(command), result_action="return_value") == 0
    assert len(capsys.readouterr().out.splitlines()) > 5
