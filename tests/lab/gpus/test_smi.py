"""nvidia-smi of a lab: the fields that we and others ask, the words and exit codes of the real one."""

import pytest

from clusterwright.lab.gpus import state
from clusterwright.lab.gpus.smi.fields import ABSENT, fields

# What health checks ask: NHC's, gcm's, Azure's and our own.
ASKED = (
    "index,uuid,name,serial,pci.bus_id,driver_version,vbios_version,memory.total,memory.used,memory.free,"
    "temperature.gpu,temperature.memory,clocks.sm,clocks.mem,clocks.gr,clocks.max.sm,clocks.applications.gr,"
    "clocks_event_reasons.active,clocks_event_reasons.hw_slowdown,clocks_throttle_reasons.sw_power_cap,"
    "clocks_throttle_reasons.hw_thermal_slowdown,ecc.mode.current,ecc.mode.pending,"
    "ecc.errors.uncorrected.volatile.total,ecc.errors.corrected.aggregate.dram,"
    "ecc.errors.uncorrected.aggregate.sram,remapped_rows.correctable,remapped_rows.uncorrectable,"
    "remapped_rows.pending,remapped_rows.failure,pcie.link.gen.current,pcie.link.gen.max,"
    "pcie.link.width.current,pcie.link.width.max,power.draw,power.limit,persistence_mode,pstate,"
    "utilization.gpu,utilization.memory,mig.mode.current,compute_mode,compute_cap"
)


def test_every_field_that_checks_ask_has_a_value(bench):
    """None of them is N/A on a sound A100."""
    for row in bench.fields(ASKED):
        assert dict(zip(ASKED.split(","), row, strict=True))
        assert "[N/A]" not in row


def test_every_field_there_is_can_be_asked(bench):
    """Also those that no simulated GPU has."""
    names = sorted(fields())

    for row in bench.fields(",".join(names)):
        found = dict(zip(names, row, strict=True))
        absent = {name for name, value in found.items() if value == "[N/A]"}
        assert absent == {*ABSENT, *(name for name in names if name.startswith("retired_pages"))}


def test_rows_have_names_and_units_unless_told_otherwise(bench):
    """As the real one writes them."""
    lines = bench.smi("--query-gpu=index,memory.total,power.limit", "--format=csv", "-i", "1").stdout

    assert lines == "index, memory.total [MiB], power.limit [W]\n1, 81920 MiB, 400.00 W\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--query-gpu=index,colour", "--format=csv"), 'Field "colour" is not a valid field to query.'),
        (("--query-gpu=index",), '"--format=" switch is missing'),
        (("--query-compute-apps=pid,colour", "--format=csv"), 'Field "colour"'),
        (("--burn",), "Invalid combination of input arguments"),
    ],
)
def test_what_cannot_be_asked_ends_with_2(bench, words, said):
    """nvidia-smi(1): a supplied argument is invalid."""
    done = bench.smi(*words)

    assert done.returncode == 2
    assert said in done.stdout


def test_the_table_says_first_that_it_is_simulated(bench):
    """And has a row of the real one's width for each GPU."""
    lines = bench.smi().stdout.splitlines()

    assert lines[0].startswith("Simulated GPUs of a lab")
    assert {len(line) for line in lines[2:] if line} == {91}
    assert sum("Simulated NVIDIA" in line for line in lines) == 2


def test_the_sections_hold_what_the_fields_say(bench):
    """`-q` has a line for each."""
    bench.put("remap", {"remap.pending": 1, "temperature": 77}, 0)
    lines = [line.split(":", 1) for line in bench.smi("-q").stdout.splitlines() if " : " in f"{line} "]
    first = {label.strip(): value.strip() for label, value in reversed(lines)}

    assert first["Product Name"] == "Simulated NVIDIA A100-SXM-80GB"
    assert (first["GPU Current Temp"], first["Attached GPUs"], first["HW Slowdown"]) == (
        "77",
        "2",
        "Not Active",
    )
    assert bench.smi("-q").stdout.count("                           : Yes") == 1


def test_one_section_can_be_asked_for(bench):
    """As people do."""
    said = bench.smi("-q", "-d", "ECC,row_remapper", "-i", "0").stdout

    assert "ECC Errors Aggregate" in said
    assert "Remapped Rows" in said
    assert "Product Name" not in said
    assert bench.smi("-q", "-d", "COLOUR").returncode == 2


def test_links_and_how_gpus_are_joined(bench):
    """A link that is down is not counted."""
    assert "GPU0\t X \tNV12" in bench.smi("topo", "-m").stdout
    bench.put("link", {"nvlink.0.down": 1, "nvlink.0.replay": 5}, 0)

    assert "GPU0\t X \tNV11" in bench.smi("topo", "-m").stdout
    assert bench.smi("nvlink", "-s").stdout.splitlines()[1:3] == [
        "\t Link 0: <inactive>",
        "\t Link 1: 25 GB/s",
    ]
    assert "\t Link 0: Replay Errors: 5" in bench.smi("nvlink", "-e").stdout


def test_a_lost_gpu_ends_with_15_and_hides_no_other(bench):
    """The words that scripts look for."""
    bench.put("lost", {"lost": 1}, 0)
    done = bench.smi("-L")

    assert done.returncode == 15
    assert done.stdout.splitlines()[0].startswith("GPU 1: Simulated")
    assert "Unable to determine the device handle for GPU" in done.stdout
    assert "GPU is lost.  Reboot the system to recover this GPU" in done.stdout
    assert [bench.smi("-L", "-i", index).returncode for index in "01"] == [15, 0]


def test_another_driver_version_ends_with_18(bench):
    """And no GPU is named."""
    bench.put("mismatch", {"driver.mismatch": 1})
    done = bench.smi()

    assert (done.returncode, done.stdout) == (
        18, "Failed to initialize NVML: Driver/library version mismatch\n",
    )  # fmt: skip


def test_no_driver_ends_with_9_and_no_library_with_12(bench, monkeypatch):
    """As on a host before its driver is installed."""
    bench.library = "/nosuch"
    assert bench.smi("-L").returncode == 12
    bench.library = bench.root / "usr/lib"
    monkeypatch.setenv("CLUSTERWRIGHT_LAB_GPUS", "/nosuch")

    done = bench.smi("-L")
    assert done.returncode == 9
    assert "couldn't communicate with the NVIDIA driver" in done.stdout


def test_what_computes_is_listed(bench):
    """By GPU, with its memory."""
    bench.put("busy", {"processes": "1:1048576"}, 1)
    words = ("--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv,noheader")

    assert bench.smi(*words).stdout == f"{bench.gpus.uuid(1)}, 1, 1 MiB\n"


def test_an_inforom_that_is_corrupted_is_invalid(bench):
    """Only of that GPU."""
    bench.put("inforom", {"inforom.corrupted": 1}, 1)

    assert bench.fields("inforom.checksum_validation") == [["valid"], ["invalid"]]


def test_a_clock_that_is_held_back_names_its_reason(bench):
    """By either of the two names that drivers have had for it."""
    bench.put("slow", {"clock.sm": 345, "clock.reasons": 0x88}, 0)
    names = (
        "clocks.sm,clocks_event_reasons.hw_slowdown,clocks_throttle_reasons.hw_power_brake_slowdown,"
        "clocks_event_reasons.sw_power_cap,clocks_event_reasons.active"
    )

    assert bench.fields(names)[0] == ["345", "Active", "Active", "Not Active", "0x0000000000000088"]


def test_a_reset_ends_what_would_end_with_a_boot(bench):
    """Of that GPU alone; what it has in its own memory stays."""
    for index in (0, 1):
        bench.put(f"gpu-ecc-{index}", {"ecc.uncorrected.volatile.dram": 1}, index)
    state.set_values(bench.folder, "gpu-ecc-1", {"ecc.uncorrected.aggregate.dram": 1}, 1, lasting=True)
    done = bench.smi("--gpu-reset", "-i", "1")

    kinds = "ecc.errors.uncorrected.volatile.dram,ecc.errors.uncorrected.aggregate.dram"
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "All done.")
    assert bench.fields(kinds) == [["1", "0"], ["0", "1"]]


def test_a_gpu_that_is_lost_or_in_use_is_not_reset(bench):
    """nvidia-smi says why, and it stays as it is."""
    bench.put("gpu-lost-0", {"lost": 1}, 0)
    bench.put("process-1", {"processes": "1:1048576"}, 1)
    lost, used = (bench.smi("--gpu-reset", "-i", index) for index in "01")

    assert (lost.returncode, used.returncode) == (15, 255)
    assert "Reboot the system" in lost.stdout
    assert "In use by another client" in used.stdout
    assert bench.smi("-L", "-i", "0").returncode == 15
