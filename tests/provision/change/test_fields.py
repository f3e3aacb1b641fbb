"""What differs between two files, and what it does to running jobs."""

import pytest

from clusterwright.config.field import Cost
from clusterwright.provision.change.fields import diff_fields, new_hosts, removed_hosts


@pytest.fixture
def differ(said, text):
    """The differences of the file and the file with some texts replaced."""

    def differ(*pairs):
        new = text
        for old, other in pairs:
            assert old in new
            new = new.replace(old, other, 1)
        return diff_fields(said(text), said(new))

    return differ


def test_the_same_file_written_otherwise_does_not_differ(differ):
    """Comments, another unit, a default that is written out."""
    assert differ(("# Teams share", "# Groups share"), ("max_time: 1d", "max_time: 24h")) == ()
    assert differ(("  node_timeout: 15s\n", "  node_timeout: 15s\n  kill_wait: 30s\n")) == ()


@pytest.mark.parametrize(
    ("pair", "path", "sides", "cost"),
    [
        (("15s", "30s"), "slurm.node_timeout", ("15s", "30s"), Cost.RECONFIGURE),
        (("  node_timeout: 15s\n", "  node_timeout: 15s\n  kill_wait: 1m\n"), "slurm.kill_wait",
         ("default: 30s", "1m"), Cost.RECONFIGURE),
        (("count: 4", "count: 8"), "nodes.a100.gpus.count", ("4", "8"), Cost.DRAIN),
        (("max_time: 1d", "max_time: 1d, max_nodes: 2"), "partitions.train.max_nodes", ("not set", "2"),
         Cost.RECONFIGURE),
        (("uid: 6002", "uid: 6003"), "users.bob.uid", ("6002", "6003"), Cost.REBUILD),
        (("kind: local", "kind: nfs, server: control"), "storage.shared.kind", ("local", "nfs"), Cost.DRAIN),
    ],
)  # fmt: skip
def test_a_field_is_shown_with_both_sides_and_its_cost(differ, pair, path, sides, cost):
    """The value as the file has it, or the default; the cost is the field's own."""
    found = {change.path: change for change in differ(pair)}

    assert ((found[path].old, found[path].new), found[path].cost) == (sides, cost)
    assert found[path].reason


@pytest.mark.parametrize(
    ("pair", "path", "cost"),
    [
        (("  bob:", "  eve: {uid: 6009, team: vision}\n  bob:"), "users.eve", Cost.LIVE),
        (("  train: {", "  debug: {nodes: [a100]}\n  train: {"), "partitions.debug", Cost.RECONFIGURE),
    ],
)
def test_a_named_thing_that_is_new_costs_less_than_a_change_of_it(differ, pair, path, cost):
    """And the other way round: a partition that goes takes its jobs along."""
    (found,) = differ(pair)

    assert (found.path, found.old, found.new, found.cost) == (path, "", "a section", cost)


def test_a_partition_that_goes_takes_its_jobs_along(said, text):
    """So its hosts have to be empty."""
    more = text.replace("  train: {", "  debug: {nodes: [a100]}\n  train: {")
    (found,) = diff_fields(said(more), said(text))

    assert (found.path, found.new, found.cost) == ("partitions.debug", "", Cost.DRAIN)


@pytest.mark.parametrize(
    ("slurm", "cost"), [("22.05", Cost.RESTART), ("23.11", Cost.RECONFIGURE), ("26.05", Cost.RECONFIGURE)]
)
def test_new_hosts_cost_what_the_release_asks(said, text, slurm, cost):
    """Before 23.11 every daemon starts anew for a host more; jobs go on either way."""
    text = text[: text.index("# This section makes it")] + (
        f'software: {{slurm: "{slurm}", repositories: {{site: '
        '{url: "https://deb.example.org/slurm", unsigned: true}}}\n'
    )
    grown = text.replace("gpu-node[1-4]", "gpu-node[1-5]")
    (more,), (less,) = diff_fields(said(text), said(grown)), diff_fields(said(grown), said(text))

    assert (more.path, more.cost, less.cost) == ("nodes.a100.hosts", cost, Cost.DRAIN)
    assert new_hosts(said(text).cluster, said(grown).cluster) == ("gpu-node5",)
    assert removed_hosts(said(text).cluster, said(grown).cluster) == ()


def test_hosts_that_move_to_other_addresses_are_no_mere_growth(differ):
    """One more in front gives each of the others the next address."""
    (found,) = differ(("gpu-node[1-4]", "gpu-node[0-4]"))

    assert found.cost == Cost.DRAIN
