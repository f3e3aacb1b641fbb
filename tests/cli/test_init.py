"""`wright init --template NAME`."""

from pathlib import Path

import pytest

from clusterwright.cli.init import init
from clusterwright.config.load import load_cluster
from clusterwright.errors import WrightError

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("template", ["lab", "university", "hgx"])
def test_a_template_is_a_good_file_and_an_example(template, tmp_path):
    """What is written validates, is commented, and is the example of that name but for the path of the schema."""
    out = tmp_path / "cluster.yaml"
    init(template=template, out=out)

    assert load_cluster(out).name
    assert out.read_text().count("#") > 5
    example = (EXAMPLES / template / "cluster.yaml").read_text()
    assert out.read_text() == example.replace("$schema=../cluster.", "$schema=cluster.")
    assert (tmp_path / "cluster.schema.json").read_bytes() == (EXAMPLES / "cluster.schema.json").read_bytes()


def test_a_file_that_is_there_is_kept(tmp_path):
    """It is never overwritten."""
    out = tmp_path / "cluster.yaml"
    out.write_text("mine")
    with pytest.raises(WrightError, match="file-exists"):
        init(out=out)

    assert out.read_text() == "mine"


def test_a_folder_that_is_a_file(tmp_path):
    """The system's reason is quoted; a folder that is missing is created."""
    (tmp_path / "file").write_text("")

    with pytest.raises(WrightError, match=r"Not a directory|File exists"):
        init(out=tmp_path / "file" / "cluster.yaml")


def test_the_next_commands_are_said(tmp_path, capsys):
    """What to do with the file comes with it."""
    out = tmp_path / "cluster.yaml"
    init(out=out)

    assert f"wright validate {out}; wright lab up --cluster {out}" in capsys.readouterr().err
