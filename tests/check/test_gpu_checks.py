"""Every check of GPUs against what nvidia-smi said on real GPUs, and on such with faults put in."""

import json
from pathlib import Path

import pytest

from clusterwright.check import registry
from clusterwright.check.fact import HostSpec
from clusterwright.check.verdict import Verdict
from clusterwright.config.load import load_cluster

ROOT = Path(__file__).parents[2]
RECORDED = Path(__file__).parent / "facts"
CHECKS = {each.id: each for each in registry.all_checks()}
BY_ONE_CALL = [
    each.id
    for each in CHECKS.values()
    if [fact.id for fact in each.needs] == ["gpus"] and not each.cluster_wide
]


@pytest.fixture(scope="module")
def want():
    """A host of eight H100 with NVSwitch and InfiniBand."""
    cluster = load_cluster(ROOT / "examples/hgx/cluster.yaml")
    return HostSpec(cluster, next(host for host in cluster.hosts() if host.group.gpus))


def read(fact, case):
    """One recorded output, parsed."""
    return next(each for each in registry.all_facts() if each.id == fact).parse(
        (RECORDED / fact / f"{case}.txt").read_text()
    )


def judged(want, check, *cases):
    """Every verdict of the check on these recorded outputs, one for each fact that it needs."""
    facts = [read(fact.id, case) for fact, case in zip(CHECKS[check].needs, cases, strict=True)]
    found = CHECKS[check].judge(want, *facts)
    return [found] if isinstance(found, Verdict) else list(found)


def told(want, check, *cases):
    """Status and part of each."""
    return sorted((each.status.value, each.part) for each in judged(want, check, *cases))


@pytest.mark.parametrize("case", ["h100_idle", "h100_load", "h200_load", "lab_compute", "rows_of_their_own"])
@pytest.mark.parametrize("check", sorted(set(BY_ONE_CALL) - {"gpus_answer", "gpu_driver", "gpu_remap"}))
def test_sound_gpus_have_no_fault(want, check, case):
    """Idle and in full load, of three models, from drivers and from the lab."""
    assert {status for status, _part in told(want, check, case)} <= {"ok", "skipped"}


@pytest.mark.parametrize(
    ("check", "case", "found"),
    [
        ("gpu_ecc", "eight_with_faults", [("fail", "gpu 1"), ("fail", "gpu 6")]),
        ("gpu_remap", "eight_with_faults", [("fail", "gpu 5"), ("warn", "gpu 1")]),
        ("gpu_remap", "rows_of_their_own", [("warn", "gpu 1")]),
        ("gpu_temperature", "eight_with_faults", [("fail", "gpu 2"), ("warn", "gpu 7")]),
        ("gpu_clocks", "eight_with_faults", [("fail", "gpu 2")]),
        ("gpu_pcie", "eight_with_faults", [("fail", "gpu 3"), ("fail", "gpu 6")]),
        ("gpu_ecc_mode", "eight_with_faults", [("fail", "gpu 4")]),
        ("gpu_persistence", "eight_with_faults", [("warn", "gpu 4")]),
        ("gpu_persistence", "l40s_load", [("warn", "gpu 0")]),
        ("gpu_inforom", "eight_with_faults", [("warn", "gpu 5")]),
        ("gpu_mig_off", "eight_with_faults", [("fail", "gpu 7")]),
        ("gpu_mig_off", "h200_mig", [("fail", "gpu 0")]),
        ("gpus_answer", "eight_with_faults", [("ok", "")]),
        ("gpus_answer", "one_lost", [("fail", "")]),
        ("gpus_answer", "l40s_load", [("fail", ""), ("fail", "gpu 0")]),
        ("gpus_answer", "driver_mismatch", [("fail", "")]),
        ("gpu_driver", "h100_idle", [("fail", "gpu 0")]),
        ("gpu_ecc", "rtx2080_driver_465", [("skipped", "")]),
        ("gpu_remap", "rtx2080_driver_465", [("skipped", "")]),
        ("gpu_pcie", "rtx2080_driver_465", [("ok", "")]),
        ("gpu_temperature", "rtx2080_driver_465", [("ok", "")]),
        ("gpu_retired_pages", "h100_idle", [("skipped", "")]),
    ],
)
def test_a_fault_is_found_on_its_gpu_and_on_no_other(want, check, case, found):
    """What an older driver or a smaller model does not have is skipped, not green."""
    assert told(want, check, case) == found


@pytest.mark.parametrize("case", ["driver_mismatch", "driver_hangs", "no_nvidia_smi"])
@pytest.mark.parametrize("check", sorted(set(BY_ONE_CALL) - {"gpus_answer"}))
def test_without_an_answer_nothing_is_known_of_a_gpu(want, check, case):
    """Blind is never green; the driver's own words say why."""
    (found,) = judged(want, check, case)

    assert found.status.value == "unknown"
    assert found.observed in ("No such file or directory", read("gpus", case).reason)


def test_one_lost_gpu_leaves_the_others_judged(want):
    """The words of nvidia-smi name it; seven are judged as before."""
    (found,) = judged(want, "gpus_answer", "one_lost")

    assert "7 GPUs answer the driver: Unable to determine the device handle for GPU3" in found.observed
    assert told(want, "gpu_ecc", "one_lost") == [("ok", "")]


def test_a_gpu_that_the_bus_shows_but_the_driver_does_not(want):
    """Counted three ways: the bus, the driver, the file as gres.conf has it."""
    (found,) = judged(want, "gpu_on_bus", "eight_and_a_screen", "one_lost")

    assert found.observed == "the GPU at 0000:5d:00 is on the PCI bus but does not answer the driver"
    assert told(want, "gpu_on_bus", "eight_and_a_screen", "eight_with_faults") == [("ok", "")]


def test_a_process_of_no_job_is_told_and_memory_of_nobody(want):
    """A job's own process is no finding; used memory without a process is a leftover."""
    found = judged(want, "gpu_idle", "eight_with_faults", "a_job_and_a_stray")

    by_part = {each.part: each for each in found}
    assert "gpu 1" not in by_part
    assert by_part["gpu 2"].observed == "GPU 2: process 815 (jupyter-lab) belongs to no Slurm job"
    assert (
        by_part["gpu 3"].observed == "GPU 3: 19.4 GiB of memory are in use, although no process uses the GPU"
    )
    assert {each.status.value for each in found} == {"fail"}


def test_a_gpu_at_rest_has_lower_clocks_and_no_fault(want):
    """345 of 1980 MHz, and the reason is that it is idle."""
    (gpu,) = read("gpus", "h100_idle").gpus

    assert (gpu.sm_mhz, gpu.sm_most_mhz, gpu.slow_reasons) == (345, 1980, 1)
    assert told(want, "gpu_clocks", "h100_idle") == [("ok", "")]


@pytest.mark.parametrize(
    ("check", "case", "found"),
    [
        ("gpu_nvlinks", ("lab_compute",), [("ok", "")]),
        ("gpu_nvlinks", ("v100_two_inactive",), [("fail", "gpu 3")]),
        ("gpu_nvlinks", ("one_without",), [("fail", "gpu 1")]),
        ("gpu_nvlink_errors", ("lab_compute",), [("ok", "")]),
        ("gpu_nvlink_errors", ("one_grows",), [("warn", "gpu 0")]),
        ("fabric_manager_runs", ("lab_compute", "h100_idle"), [("skipped", "")]),
        ("fabric_manager_runs", ("hgx", "h100_idle"), [("ok", "")]),
        ("fabric_manager_runs", ("another_version", "h100_idle"), [("fail", "")]),
        ("peer_memory", ("peermem",), [("ok", "")]),
        ("peer_memory", ("open_driver",), [("ok", "")]),
        ("peer_memory", ("closed_driver_alone",), [("fail", "")]),
        ("mpi_cuda_aware", ("openmpi_with_cuda",), [("ok", "")]),
        ("mpi_cuda_aware", ("openmpi_without_cuda",), [("warn", "")]),
        ("mpi_cuda_aware", ("mvapich_gdr",), [("ok", "")]),
        ("mpi_cuda_aware", ("mpich",), [("unknown", "")]),
        ("mpi_cuda_aware", ("none",), [("ok", "")]),
    ],
)
def test_what_joins_gpus(want, check, case, found):
    """Links, the switches between them, and the way to the adapters."""
    assert told(want, check, *case) == found


def test_one_odd_driver_in_a_group_is_told_on_its_host(want):
    """Driver and VBIOS of a group are compared; the odd host is named."""
    hosts = [host.name for host in want.cluster.hosts() if host.group.gpus][:3]
    have = dict.fromkeys(hosts, read("gpus", "h100_idle")) | {hosts[1]: read("gpus", "h200_load")}

    found = CHECKS["gpu_versions_equal"].judge(want.cluster, have)

    assert [(each.subject, each.status.value) for each in found] == [
        (hosts[0], "ok"), (hosts[1], "warn"), (hosts[2], "ok"),
    ]  # fmt: skip


def test_recorded_rows_are_of_the_fields_that_are_asked():
    """A field that is asked for under no recorded case would be a guess."""
    rows = json.loads((RECORDED / "gpus" / "h100_idle.txt").read_text())

    assert rows["refused"] == []
    assert len(rows["rows"][0]) == 37
