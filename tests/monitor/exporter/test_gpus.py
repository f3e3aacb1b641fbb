"""GPUs by NVML: the library that a lab's hosts have, and what happens to its GPUs."""

import pytest

from clusterwright.onhost.exporter.collectors import gpus as collector
from clusterwright.onhost.exporter.nvml import NvmlError


def test_eight_sound_gpus_say_all_of_the_record(gpus, settings, samples):
    """Each family of the table, for each of them."""
    found = samples(collector.collect(settings(gpus=8), {}))

    assert found["gpus_seen",] == 8
    for name in (
        "utilisation_ratio", "memory_used_bytes", "memory_total_bytes", "temperature_celsius", "power_watts",
        "energy_joules_total", "sm_clock_hertz", "ecc_uncorrected_total", "ecc_corrected_total", "remap_pending",
        "remap_failed", "pcie_replays_total", "nvlink_errors_total", "nvlinks_active",
    ):  # fmt: skip
        assert sum(key[0] == f"gpu_{name}" for key in found) == 8, name
    assert found["gpu_memory_total_bytes", ("gpu", "0")] == 80 * 2**30
    assert found["gpu_power_watts", ("gpu", "0")] == 60
    assert found["gpu_sm_clock_hertz", ("gpu", "0")] == 1.41e9
    assert found["gpu_nvlinks_active", ("gpu", "0")] == 12


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"utilization.gpu": 93}, ("gpu_utilisation_ratio", (), 0.93)),
        ({"ecc.uncorrected.volatile.dram": 2}, ("gpu_ecc_uncorrected_total", (), 2)),
        ({"remap.pending": 1}, ("gpu_remap_pending", (), 1)),
        ({"pcie.replays": 7}, ("gpu_pcie_replays_total", (), 7)),
        ({"clock.reasons": 0x48}, ("gpu_throttled", (("reason", "thermal"),), 1)),
        ({"clock.reasons": 0x48}, ("gpu_throttled", (("reason", "hardware"),), 1)),
        ({"clock.reasons": 0x4}, ("gpu_throttled", (("reason", "power"),), 0)),  # a power limit is no fault
        ({"clock.reasons": 0x80}, ("gpu_throttled", (("reason", "power"),), 1)),
    ],
)
def test_what_happens_to_one_gpu_is_said_of_that_one(gpus, settings, samples, rows, said):
    """And of no other."""
    name, labels, value = said
    gpus.put("fault", rows, 3)
    found = samples(collector.collect(settings(gpus=8), {}))

    assert found[(name, ("gpu", "3"), *labels)] == pytest.approx(value)
    assert found[(name, ("gpu", "2"), *labels)] == 0


def test_a_gpu_that_is_lost_is_not_seen(gpus, settings, samples):
    """The driver still counts it; the others are all there."""
    state = {}
    assert samples(collector.collect(settings(gpus=8), state))["gpus_seen",] == 8
    gpus.put("gone", {"lost": 1}, 5)
    found = samples(collector.collect(settings(gpus=8), state))

    assert found["gpus_seen",] == 7
    assert ("gpu_power_watts", ("gpu", "5")) not in found
    assert ("gpu_power_watts", ("gpu", "6")) in found


def test_errors_of_links_are_added_up(gpus, settings, samples):
    """Those of a link that is down, too: their sum must not fall when it goes."""
    gpus.put("link", {"nvlink.2.down": 1, "nvlink.2.replay": 12, "nvlink.3.crc_flit": 5}, 1)
    found = samples(collector.collect(settings(gpus=8), {}))

    assert found["gpu_nvlinks_active", ("gpu", "1")] == 11
    assert found["gpu_nvlink_errors_total", ("gpu", "1")] == 17


def test_a_host_without_the_library_has_seen_none(settings, samples, monkeypatch):
    """Its GPUs are declared, and none answers."""
    monkeypatch.setattr("clusterwright.onhost.exporter.nvml.LIBRARY", "libnone-such.so.9")
    assert samples(collector.collect(settings(gpus=8), {})) == {("gpus_seen",): 0}


def test_another_version_of_the_driver_is_a_failure_and_no_zero(gpus, settings):
    """Nobody knows how many GPUs answer."""
    gpus.put("driver", {"driver.mismatch": 1})
    with pytest.raises(NvmlError):
        list(collector.collect(settings(gpus=8), {}))
