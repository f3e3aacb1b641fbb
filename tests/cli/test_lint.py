"""`wright lint FILE --slurm VERSION`."""

import json

import pytest

from clusterwright.cli.lint import lint
from clusterwright.errors import SpecError, WrightError


@pytest.fixture
def old(tmp_path):
    """A slurm.conf as sites carry it along for years."""
    file = tmp_path / "slurm.conf"
    file.write_text("ClusterName=a\nSelectType=select/cons_res\nSlurmctldPlugstack=x\n")
    return file


def test_what_a_release_would_die_of_is_named_with_its_line(old, capsys):
    """Exit code 5: faults found."""
    assert lint(old, slurm="25.11") == 5

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{old}:2: select/cons_res: Slurm removed it after 23.02")
    assert lines[1].startswith(f"{old}:3: SlurmctldPlugstack: Slurm removed it after 22.05")


def test_the_release_of_its_time_takes_it(old, capsys):
    """Nothing on stdout, and exit code 0."""
    assert lint(old, slurm="22.05.8") == 0
    assert capsys.readouterr().out == ""


def test_the_findings_as_json(old, capsys):
    """Line, key, what, and whether the daemons would end."""
    assert lint(old, slurm="25.11", json=True) == 5

    document = json.loads(capsys.readouterr().out)
    assert [(row["line"], row["key"], row["fatal"]) for row in document["findings"]] == [
        (2, "select/cons_res", True),
        (3, "SlurmctldPlugstack", True),
    ]


@pytest.mark.parametrize(("name", "slurm"), [("plugstack.conf", "25.11"), ("slurm.conf", "24.08")])
def test_what_there_is_no_table_for_is_refused(tmp_path, name, slurm):
    """A file that is none of Slurm's five, and a release that never was."""
    (tmp_path / name).write_text("")

    with pytest.raises(WrightError, match="are not known"):
        lint(tmp_path / name, slurm=slurm)


def test_a_file_that_is_not_there_is_told(tmp_path):
    """As for a cluster file."""
    with pytest.raises(SpecError, match="No such file"):
        lint(tmp_path / "slurm.conf", slurm="25.11")
