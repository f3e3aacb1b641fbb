"""The cluster file has one name in all messages: the path as the user gave it."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from clusterwright.cli._show import cluster_option
from clusterwright.cli.export import export
from clusterwright.cli.init import init
from clusterwright.cli.render import render
from clusterwright.errors import WrightError

ROOT = Path(__file__).parents[2]
CLI = ROOT / "src" / "clusterwright" / "cli"
NAMED = ("the sites/my cluster.yaml", "cluster.yaml", "../beside/cluster.yaml", "ABSOLUTE/cluster.yaml")


@pytest.fixture(params=NAMED)
def file(request, tmp_path, monkeypatch):
    """A cluster file under several names, as typed; the folder of the call is another."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    named = Path(request.param.replace("ABSOLUTE", str(tmp_path)))
    named.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "examples" / "lab" / "cluster.yaml", named)
    return named


def test_a_command_to_copy_names_the_file_as_given(file, capsys):
    """And a shell reads it as one word."""
    render(cluster=file, out=Path("tree"))
    export(cluster=file, out=Path("export"))
    text = capsys.readouterr().err
    commands = [line.partition(": ")[2] for line in text.splitlines() if "--cluster" in line]

    assert commands
    for command in commands:
        words = shlex.split(command)
        assert words[words.index("--cluster") + 1] == str(file)


def test_an_error_in_the_file_names_it_as_given(file, capsys):
    """With line and column behind it."""
    file.write_text(file.read_text().replace("networks:", "networkz:", 1))
    with pytest.raises(WrightError) as error:
        render(cluster=file, out=Path("tree"))

    assert f"  {file}:" in str(error.value)


def test_a_new_file_is_named_as_given(file, capsys):
    """Also in the commands that follow."""
    file.unlink()
    init(template="lab", out=file)
    text = capsys.readouterr().err

    assert f"written: {file}" in text
    assert f"wright validate {shlex.quote(str(file))};" in text
    assert str(file) == "cluster.yaml" or cluster_option(file) in text


def test_all_commands_to_copy_use_one_function():
    """A path that is pasted in unquoted breaks in a folder with a space."""
    wrong = [
        f"{path.name}: {line.strip()}"
        for path in CLI.rglob("*.py")
        for line in path.read_text().splitlines()
        if re.search(r"--cluster \{(?!shlex)", line)
    ]

    assert wrong == []
