"""The JSON Schema holds every field with its description, and its examples and defaults are good values."""

import pytest
from pydantic import TypeAdapter

from clusterwright.config.cluster import Cluster
from clusterwright.config.field import Cost, Section
from clusterwright.config.job import Job
from clusterwright.config.reader import read
from clusterwright.config.schema import find_schema, properties, resolved, schema_of

KINDS = ["cluster", "job"]
WHOLE = {"cluster": Cluster, "job": Job}


def sections(kind):
    """Every section of a file by name, the file itself too."""
    whole = schema_of(kind)
    return {kind: whole, **whole["$defs"]}


def models():
    """Every Section there is, by name."""
    found, left = {}, [Section]
    while left:
        for model in left.pop().__subclasses__():
            found[model.__name__] = model
            left.append(model)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described(kind):
    """All of the fields say what they mean, and what changing them costs."""
    for section, node in sections(kind).items():
        assert node["description"], section
        for name, field in node["properties"].items():
            assert resolved(field, schema_of(kind))["description"].endswith("."), (section, name)
            assert field["cost"] in set(Cost)


@pytest.mark.parametrize("kind", KINDS)
def test_every_section_is_closed_and_says_nothing_of_null(kind):
    """An unknown key is an error in the editor too, and no value is ever null."""
    whole = schema_of(kind)

    assert whole["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert all(node["additionalProperties"] is False for node in sections(kind).values())
    assert "'null'" not in str(whole)


@pytest.mark.parametrize("kind", KINDS)
def test_quantities_are_patterned_text(kind):
    """An editor refuses a bare number for a size, a rate or a duration; defaults are written with units."""
    found = [
        field
        for node in sections(kind).values()
        for field in node["properties"].values()
        if "quantity" in field
    ]

    assert found
    assert all(field["type"] == "string" and field["pattern"].startswith("^") for field in found)
    assert all(isinstance(field.get("default", ""), str) for field in found)


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_is_a_good_value(kind):
    """What the docs show could be copied into a file."""
    every = models()
    for section, node in sections(kind).items():
        model = WHOLE[kind] if section == kind else every[section]
        for name, field in properties(node, schema_of(kind)).items():
            for example in field.get("examples", ()):
                wanted = model.model_fields[name]
                adapter = TypeAdapter(wanted.rebuild_annotation())

                assert adapter.validate_python(example, strict=True) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_are_shown_as_a_file_would_write_them(kind):
    """A section that has only defaults is `{}`."""
    whole = schema_of(kind)
    for name in ("software", "slurm") if kind == "cluster" else ("recovery", "checkpoint"):
        assert whole["properties"][name]["default"] == {}


def test_the_schema_of_a_value_is_found_by_its_path():
    """Names, list items and the variant of a `kind` are followed."""
    text = "storage: {a: {kind: ceph}}\nnodes: {n: {disks: [{}, {size: 1}]}}\n"
    values, whole = read(text, "f").values, schema_of("cluster")

    assert "monitors" in properties(find_schema(whole, values, ("storage", "a")), whole)
    assert find_schema(whole, values, ("nodes", "n", "disks", 1, "size"))["quantity"] == "size"
    assert find_schema(whole, values, ("nowhere", "at", 3, "all")) == {}


def test_what_stands_beside_a_reference_wins():
    """A field's own description is kept when its section is followed."""
    whole = schema_of("cluster")

    assert resolved(whole["properties"]["ssh"], whole)["description"] == "SSH access to the hosts."
