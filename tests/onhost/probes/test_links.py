"""The probes of links, on trees of the form that the kernel documents (ABI/stable/sysfs-class-infiniband)."""

import json
import subprocess
import sys
import time

import pytest

from clusterwright.edge import bundler

HDR = {
    "fw_ver": "20.35.2000", "board_id": "MT_0000000223",
    "ports/1/state": "4: ACTIVE", "ports/1/phys_state": "5: LinkUp", "ports/1/rate": "200 Gb/sec (4X HDR)",
    "ports/1/link_layer": "InfiniBand", "ports/1/lid": "0x5", "ports/1/sm_lid": "0x1",
    "ports/1/gids/0": "fe80:0000:0000:0000:0c42:a103:0049:5c4e",
    "ports/1/gids/1": "0000:0000:0000:0000:0000:0000:0000:0000",
    "ports/1/gid_attrs/types/0": "IB/RoCE v1", "device/net/ib0/mtu": "2044",
}  # fmt: skip


def probe(name, *arguments):
    """What the probe prints, run as the reader runs it."""
    source = bundler.probe(name)
    argv = [sys.executable, "-I", "-S", "-c", source, *map(str, arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=150, check=True)
    return json.loads(done.stdout)


@pytest.fixture
def tree(tmp_path):
    """A folder to put files in."""

    def put(files, under="class"):
        for path, text in files.items():
            file = tmp_path / under / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}\n")
        return tmp_path / under

    return put


def test_a_port_says_all_that_the_kernel_says(tree, tmp_path):
    """State, rate and firmware; the address in use, without the empty one."""
    found = probe("rdma", tree({f"mlx5_0/{path}": text for path, text in HDR.items()}), tmp_path / "none")

    assert found["verbs"] == 0
    (port,) = found["ports"]
    assert (port["device"], port["port"], port["firmware"]) == ("mlx5_0", "1", "20.35.2000")
    assert (port["state"], port["rate"]) == ("4: ACTIVE", "200 Gb/sec (4X HDR)")
    assert [gid["index"] for gid in port["gids"]] == ["0"]
    assert port["interfaces"] == ["ib0"]


def test_a_host_without_adapters_has_no_ports(tmp_path):
    """No tree, no ports, no error."""
    assert probe("rdma", tmp_path / "a", tmp_path / "b") == {"ports": [], "verbs": 0}


def test_counters_are_read_twice_and_then_against_the_last_time(tree, tmp_path):
    """What a first pass reads is kept; one two minutes later has the growth of that time, and leaves it kept."""
    place = tree({"net/eth0/carrier_changes": "3", "infiniband/mlx5_0/ports/1/counters/symbol_error": "7"})
    kept = tmp_path / "run" / "kept.json"
    first = probe("link_counters", kept, place)
    before = json.loads(kept.read_text())
    kept.write_text(json.dumps({**before, "at": before["at"] - 120}))
    tree({"net/eth0/carrier_changes": "5"})
    second = probe("link_counters", kept, place)

    assert first["now"]["links"] == {"eth0": {"carrier_changes": 3}, "mlx5_0/1": {"symbol_error": 7}}
    assert first["now"]["at"] - first["before"]["at"] >= 2
    assert second["before"]["links"]["eth0"] == {"carrier_changes": 3}
    assert second["now"]["links"]["eth0"] == {"carrier_changes": 5}
    assert second["now"]["at"] - second["before"]["at"] >= 120
    assert json.loads(kept.read_text())["at"] == before["at"] - 120


def test_after_an_hour_the_newer_reading_is_kept(tree, tmp_path):
    """What was wrong an hour ago is no longer told."""
    place, kept = tree({"net/eth0/carrier_changes": "9"}), tmp_path / "kept.json"
    at = time.clock_gettime(time.CLOCK_BOOTTIME) - 4000
    kept.write_text(json.dumps({"at": at, "links": {"eth0": {"carrier_changes": 3}}}))
    found = probe("link_counters", kept, place)

    assert found["before"]["links"] == {"eth0": {"carrier_changes": 3}}
    assert json.loads(kept.read_text())["links"] == {"eth0": {"carrier_changes": 9}}


@pytest.mark.parametrize("text", ["", "[]", '{"at": "x"}', '{"at": 1e18, "links": {}}'])
def test_a_reading_that_cannot_be_used_is_not(tree, tmp_path, text):
    """Torn, of another form, or of a later boot: two readings are made anew."""
    place = tree({"net/eth0/carrier_changes": "3"})
    (tmp_path / "kept.json").write_text(text)

    assert probe("link_counters", tmp_path / "kept.json", place)["before"]["links"] == {
        "eth0": {"carrier_changes": 3}
    }


def test_a_folder_that_cannot_be_written_costs_only_the_memory(tree, tmp_path):
    """A full or read-only disk is another check's finding."""
    place = tree({"net/eth0/carrier_changes": "3"})
    (tmp_path / "file").write_text("")

    assert probe("link_counters", tmp_path / "file" / "kept.json", place)["now"]["links"]
