"""NICs, switches, cables, storage and servers: every row has a source, and names what there is."""

import pytest

from clusterwright.catalog import gpu, parts
from clusterwright.catalog.rows import rows
from clusterwright.errors import WrightError

TABLES = {
    "nics": (parts.nics, parts.nic), "switches": (parts.switches, parts.switch),
    "cables": (parts.cables, parts.cable), "storage": (parts.storages, parts.storage),
    "servers": (parts.servers, parts.server),
}  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_a_source_and_is_found(table):
    """By its name, in any case."""
    every, find = TABLES[table]

    assert len(every()) == len(rows(table))
    for name, one in every().items():
        assert len(one.source) > 8
        assert find(name.upper()) is one


@pytest.mark.parametrize("table", TABLES)
def test_an_unknown_part_names_the_nearest(table):
    """And where all are listed."""
    every, find = TABLES[table]
    name = next(iter(every()))
    with pytest.raises(WrightError) as caught:
        find(f"{name}x")

    assert caught.value.findings[0].code == "unknown-part"
    assert f"`{name}`" in caught.value.findings[0].fix
    assert f"wright plan catalog {table}" in caught.value.findings[0].fix


@pytest.mark.parametrize("name", parts.servers())
def test_a_server_is_made_of_known_parts_and_draws_what_they_draw(name):
    """Its GPUs, NICs and drives are in the catalog; its power is theirs and a sane rest."""
    one = parts.server(name)
    gpus_w = gpu(one.gpu).power_w * one.gpus

    assert gpu(one.gpu).name == one.gpu
    assert parts.nic(one.nic).name == one.nic
    assert parts.storage(one.drive).kind == "drive"
    assert one.scenario in {"training", "science", "inference"}
    assert gpus_w < one.power_w < gpus_w + max(1250, 1.05 * gpus_w)
    assert one.cores % one.cpus == 0


@pytest.mark.parametrize(
    ("name", "gpus", "memory_gb", "power_w"),
    [("8xa100-80g", 8, 1024, 6500), ("4xa100-40g", 4, 256, 2200), ("a40x4", 4, 192, 2000), ("rtx4090x2", 2, 128, 1300)],
)  # fmt: skip
def test_the_guides_reference_nodes_are_there(name, gpus, memory_gb, power_w):
    """As the guides describe them."""
    one = parts.server(name)

    assert (one.gpus, one.memory_bytes / 1e9, one.power_w) == (gpus, memory_gb, power_w)


def test_every_scenario_has_a_server():
    """Training, science and inference."""
    assert {one.scenario for one in parts.servers().values()} == {"training", "science", "inference"}


def test_cables_of_one_rate_reach_farther_the_dearer_they_are():
    """Copper first, then active optics or transceivers."""
    reach = {}
    for one in parts.cables().values():
        reach.setdefault(one.bits_per_s, []).append(one.reach_m)

    assert all(each == sorted(each) for each in reach.values())
