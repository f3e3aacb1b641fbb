"""`wright schema cluster|job`."""

import json

import pytest

from clusterwright.cli.schema import schema


@pytest.mark.parametrize("kind", ["cluster", "job"])
def test_the_schema_is_one_json_document(kind, capsys):
    """Ready to be saved beside the file."""
    assert schema(kind) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["$schema"].endswith("2020-12/schema")
    assert document["title"] == f"Clusterwright {kind} file"
    assert "name" in document["required"]
