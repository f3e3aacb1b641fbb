"""Every field as a row of documentation, and found by its path."""

import pytest

from clusterwright.config.fields import fields, matching, written

ALL = fields("cluster") + fields("job")


def paths(query):
    """The paths of what a query means."""
    return [f"{field.file}:{field.path}" for field in matching(query, ALL)]


def test_rows_are_complete():
    """Each says what it means, what it takes and what it is if left out."""
    assert len(ALL) > 120
    assert all(field.meaning and field.takes and field.default for field in ALL)
    assert len({(field.file, field.path, field.variant) for field in ALL}) == len(ALL)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("nodes.gpus.count", ["cluster:nodes.NAME.gpus.count"]),
        ("nodes.a100.gpus.count", ["cluster:nodes.NAME.gpus.count"]),
        ("nodes.NAME.gpus.count", ["cluster:nodes.NAME.gpus.count"]),
        ("nodes.disks.size", ["cluster:nodes.NAME.disks[].size"]),
        ("nodes.a100.disks[0].size", ["cluster:nodes.NAME.disks[].size"]),
        ("gpus.count", ["cluster:nodes.NAME.gpus.count"]),
        ("gpus_per_node", ["job:gpus_per_node", "cluster:partitions.NAME.gpus_per_node"]),
        ("checkpoint.every", ["job:checkpoint.every"]),
        ("storage.server", ["cluster:storage.NAME.server"]),
        ("nowhere", []),
    ],
)
def test_fields_are_found_by_path(query, found):
    """Names may stand in a path or be left out, and so may all but the end of it."""
    assert paths(query) == found


def test_fields_that_variants_share_are_shown_once():
    """The path of a shared folder is one row, its server is a row of NFS."""
    rows = [(field.path, field.variant) for field in ALL if field.path.startswith("storage.NAME.")]

    assert rows.count(("storage.NAME.path", "")) == 1
    assert ("storage.NAME.server", "nfs") in rows
    assert ("storage.NAME.filesystem", "ceph") in rows


@pytest.mark.parametrize(
    ("path", "takes"),
    [
        ("nodes.NAME.memory", "a size such as 512GiB or 3.2TB"),
        ("nodes.NAME.cpus.sockets", "an integer from 1 to 32"),
        ("nodes.NAME.role", "one of control, compute, login"),
        ("partitions.NAME.nodes", "a list, each item a plain name"),
        ("partitions", "names, each with a section"),
        ("slurm.ports", "a list of 2, each an integer from 1 to 65535"),
        ("environment.variables", "names, each with a string"),
        ("arguments", "names, each with a string, a number, or true or false"),
        ("checkpoint.every", "a number of steps, or a duration"),
        ("lab", "a section"),
        ("software.slurm", "a version in quotes"),
    ],
)
def test_what_a_field_takes_is_said_in_words(path, takes):
    """From the schema, so that it cannot be out of date."""
    assert [field.takes for field in ALL if field.path == path] == [takes]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        ("22.05", '"22.05"'),
        ("true", '"true"'),
        ([1, "a"], "[1, a]"),
        ({"a": "1"}, '{a: "1"}'),
        (3, "3"),
    ],
)
def test_values_are_written_so_that_yaml_reads_them_back(value, text):
    """Text that YAML would take for something else is quoted."""
    assert written(value) == text
