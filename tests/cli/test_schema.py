"""`wright schema cluster|job`."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from clusterwright.cli.init import init
from clusterwright.cli.schema import schema
from clusterwright.config.load import kind_of, source_of
from clusterwright.config.schema import schema_of, schema_text

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*/*.yaml"))


@pytest.mark.parametrize("kind", ["cluster", "job"])
def test_the_schema_is_one_json_document(kind, capsys):
    """Ready to be saved beside the file."""
    assert schema(kind) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["$schema"].endswith("2020-12/schema")
    assert document["title"] == f"Clusterwright {kind} file"
    assert "name" in document["required"]


@pytest.mark.parametrize("kind", ["cluster", "job"])
def test_the_schema_is_written_to_a_file(kind, tmp_path, capsys):
    """The same text as on stdout."""
    out = tmp_path / f"{kind}.schema.json"
    assert schema(kind, out=out) == 0
    assert capsys.readouterr().out == ""
    schema(kind)

    assert out.read_text() == capsys.readouterr().out


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_an_example_names_a_schema_that_it_matches(path):
    """The first line leads to the file of `wright schema`, as an editor resolves it: relative to the YAML file."""
    reference = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", path.read_text().splitlines()[0])
    file = path.parent / reference[1]
    kind = kind_of(source_of(path))
    values = YAML(typ="safe", pure=True).load(path)

    assert file.read_text() == schema_text(kind)
    assert list(Draft202012Validator(json.loads(file.read_text())).iter_errors(values)) == []


@pytest.mark.parametrize("kind", ["cluster", "job"])
def test_the_schema_is_valid_and_has_a_name(kind):
    """By the rules of its dialect; the name tells the two apart and is no address."""
    document = schema_of(kind)
    Draft202012Validator.check_schema(document)

    assert document["$id"] == f"urn:clusterwright:schema:{kind}"
    assert not Draft202012Validator(document).is_valid({"name": "x", "nodez": 1})


def test_init_keeps_a_schema_that_is_there(tmp_path):
    """It may be of a newer version, or another file of that name."""
    (tmp_path / "cluster.schema.json").write_text("{}")
    init(out=tmp_path / "cluster.yaml")

    assert (tmp_path / "cluster.schema.json").read_text() == "{}"
