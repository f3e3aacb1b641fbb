"""libnvidia-ml.so.1 of a lab, asked by NVIDIA's own nvidia-ml-py."""

import re
import shutil
import subprocess
import threading
import time

import pytest

from clusterwright.lab.gpus import library

NEWEST_GLIBC = (2, 36)  # Debian 12's, the oldest `os` of labs


def test_it_needs_no_newer_glibc_than_the_hosts_have(built):
    """It may be built on a newer system than it runs on."""
    if shutil.which("readelf") is None:
        pytest.skip("readelf is not installed (apt-get install binutils)")
    said = subprocess.run(
        ["readelf", "--version-info", built / library.SONAME], capture_output=True, text=True, check=True
    ).stdout
    needed = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", said)}

    assert needed
    assert max(needed) <= NEWEST_GLIBC


def test_every_name_it_gives_says_that_it_is_simulated(nvml, gpus):
    """Nobody can take it for hardware."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(1)

    assert nvml.nvmlDeviceGetName(gpu) == "Simulated NVIDIA A100-SXM-80GB"
    assert nvml.nvmlDeviceGetBoardPartNumber(gpu) == nvml.nvmlDeviceGetVbiosVersion(gpu) == "SIMULATED"
    assert nvml.nvmlDeviceGetSerial(gpu).startswith("SIMULATED-")
    assert nvml.nvmlDeviceGetUUID(gpu) == gpus.uuid(1)
    assert gpus.uuid(1).startswith("GPU-00000000-")


def test_a_gpu_is_found_by_everything_that_names_it(nvml, gpus):
    """Index, UUID, serial, PCI address as nvidia-smi and as the kernel write it."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(1)
    pci = nvml.nvmlDeviceGetPciInfo(gpu)

    assert (pci.busId, pci.bus, pci.domain) == ("00000000:17:00.0", 0x17, 0)
    for found in (
        nvml.nvmlDeviceGetHandleByUUID(gpus.uuid(1)),
        nvml.nvmlDeviceGetHandleBySerial(nvml.nvmlDeviceGetSerial(gpu)),
        nvml.nvmlDeviceGetHandleByPciBusId("0000:17:00.0"),
        nvml.nvmlDeviceGetHandleByPciBusId("17:00.0"),
    ):
        assert nvml.nvmlDeviceGetMinorNumber(found) == 1
    for wrong in ("GPU-1", "0000:99:00.0"):
        with pytest.raises((nvml.NVMLError_NotFound, nvml.NVMLError_InvalidArgument)):
            nvml.nvmlDeviceGetHandleByUUID(wrong)
    with pytest.raises(nvml.NVMLError_InvalidArgument):
        nvml.nvmlDeviceGetHandleByIndex(2)


def test_a_sound_gpu_is_as_the_file_and_the_catalog_say(nvml, gpus):
    """Memory, power, clocks, links, versions."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    second = nvml.nvmlDeviceGetMemoryInfo(gpu, version=nvml.nvmlMemory_v2)

    assert nvml.nvmlDeviceGetCount() == 2
    assert nvml.nvmlSystemGetDriverVersion() == gpus.driver
    assert nvml.nvmlSystemGetCudaDriverVersion() == 13000
    assert nvml.nvmlDeviceGetMemoryInfo(gpu).total == second.total == second.free == 80 * 2**30
    assert nvml.nvmlDeviceGetEnforcedPowerLimit(gpu) == 400_000
    assert nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM) == 1410
    assert nvml.nvmlDeviceGetMaxClockInfo(gpu, nvml.NVML_CLOCK_MEM) == 1593
    assert nvml.nvmlDeviceGetTemperatureThreshold(gpu, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN) == 89
    assert nvml.nvmlDeviceGetCudaComputeCapability(gpu) == (8, 0)
    assert nvml.nvmlDeviceGetArchitecture(gpu) == nvml.NVML_DEVICE_ARCH_AMPERE
    assert nvml.nvmlDeviceGetEccMode(gpu) == [1, 1]
    assert nvml.nvmlDeviceGetMigMode(gpu) == [0, 0]
    assert nvml.nvmlDeviceGetRemappedRows(gpu) == (0, 0, 0, 0)
    assert nvml.nvmlDeviceGetCurrPcieLinkWidth(gpu) == nvml.nvmlDeviceGetMaxPcieLinkWidth(gpu) == 16
    assert [nvml.nvmlDeviceGetNvLinkState(gpu, link) for link in range(12)] == [1] * 12
    assert nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu) == nvml.nvmlClocksEventReasonNone
    assert nvml.nvmlDeviceGetComputeRunningProcesses(gpu) == []


def test_two_gpus_are_as_far_apart_as_their_sockets(nvml):
    """The file's `sockets` says it."""
    one, other = (nvml.nvmlDeviceGetHandleByIndex(index) for index in range(2))

    assert nvml.nvmlDeviceGetTopologyCommonAncestor(one, other) == nvml.NVML_TOPOLOGY_SYSTEM
    assert nvml.nvmlDeviceGetTopologyCommonAncestor(one, one) == nvml.NVML_TOPOLOGY_NODE


def test_a_change_shows_at_once_and_goes_again(nvml, bench):
    """Counters by place and their total; the other GPU is as it was."""
    gpu, other = (nvml.nvmlDeviceGetHandleByIndex(index) for index in range(2))
    bench.put("ecc", {"ecc.uncorrected.volatile.dram": 3, "ecc.uncorrected.volatile.sram": 2}, 0)
    kinds = nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC

    assert nvml.nvmlDeviceGetTotalEccErrors(gpu, *kinds) == 5
    assert nvml.nvmlDeviceGetMemoryErrorCounter(gpu, *kinds, nvml.NVML_MEMORY_LOCATION_SRAM) == 2
    assert nvml.nvmlDeviceGetDetailedEccErrors(gpu, *kinds).deviceMemory == 3
    assert nvml.nvmlDeviceGetTotalEccErrors(other, *kinds) == 0
    bench.take("ecc")
    assert nvml.nvmlDeviceGetTotalEccErrors(gpu, *kinds) == 0


def test_a_link_that_is_down_and_its_counters(nvml, bench):
    """Only that link."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    bench.put("link", {"nvlink.3.down": 1, "nvlink.3.replay": 7}, 0)

    assert [link for link in range(12) if not nvml.nvmlDeviceGetNvLinkState(gpu, link)] == [3]
    assert nvml.nvmlDeviceGetNvLinkErrorCounter(gpu, 3, nvml.NVML_NVLINK_ERROR_DL_REPLAY) == 7
    with pytest.raises(nvml.NVMLError_InvalidArgument):
        nvml.nvmlDeviceGetNvLinkState(gpu, 12)


def test_a_lost_gpu_says_so_in_every_call(nvml, bench):
    """It is still counted; the others answer."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(1)
    bench.put("lost", {"lost": 1}, 1)

    assert nvml.nvmlDeviceGetCount() == 2
    for call in (nvml.nvmlDeviceGetName, nvml.nvmlDeviceGetMemoryInfo, nvml.nvmlDeviceGetPciInfo):
        with pytest.raises(nvml.NVMLError_GpuIsLost):
            call(gpu)
    with pytest.raises(nvml.NVMLError_GpuIsLost):
        nvml.nvmlDeviceGetHandleByIndex(1)
    assert nvml.nvmlDeviceGetHandleByIndex(0)


def test_a_driver_of_another_version_is_refused(nvml, bench):
    """At the next initialisation."""
    bench.put("mismatch", {"driver.mismatch": 1})

    with pytest.raises(nvml.NVMLError_LibRmVersionMismatch):
        nvml.nvmlInit()


def test_without_a_state_there_is_no_driver(nvml, monkeypatch):
    """As on a host where the module is not loaded."""
    monkeypatch.setenv("CLUSTERWRIGHT_LAB_GPUS", "/nosuch")

    with pytest.raises(nvml.NVMLError_DriverNotLoaded):
        nvml.nvmlInit()


def test_a_hanging_driver_answers_when_it_goes_on(nvml, bench):
    """Whoever asks waits, as long as it hangs."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    bench.put("hang", {"driver.hangs": 1})
    waiting = threading.Thread(target=nvml.nvmlDeviceGetName, args=(gpu,))
    waiting.start()
    waiting.join(0.5)

    assert waiting.is_alive()
    bench.take("hang")
    waiting.join(10)
    assert not waiting.is_alive()


def test_an_xid_is_an_event_once(nvml, bench):
    """What was there at registration is none; nothing for a while is a time-out."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(1)
    bench.put("xid", {"xid": 13, "xid.at": 1}, 1)
    events = nvml.nvmlEventSetCreate()
    nvml.nvmlDeviceRegisterEvents(gpu, nvml.nvmlEventTypeXidCriticalError, events)
    with pytest.raises(nvml.NVMLError_Timeout):
        nvml.nvmlEventSetWait_v2(events, 100)
    bench.put("xid", {"xid": 79, "xid.at": time.time_ns()}, 1)
    seen = nvml.nvmlEventSetWait_v2(events, 5000)

    assert (seen.eventType, seen.eventData) == (nvml.nvmlEventTypeXidCriticalError, 79)
    with pytest.raises(nvml.NVMLError_Timeout):
        nvml.nvmlEventSetWait_v2(events, 0)
    nvml.nvmlEventSetFree(events)


def test_what_no_simulated_gpu_has_is_not_supported_or_not_found(nvml):
    """A caller hears it as from an old driver."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)

    with pytest.raises(nvml.NVMLError_NotSupported):
        nvml.nvmlDeviceGetRetiredPagesPendingStatus(gpu)
    with pytest.raises(nvml.NVMLError_NotSupported):
        nvml.nvmlDeviceGetFanSpeed(gpu)
    with pytest.raises(nvml.NVMLError_FunctionNotFound):
        nvml.nvmlDeviceGetIrqNum(gpu)
    assert nvml.nvmlDeviceGetEncoderUtilization(gpu)[0] == nvml.nvmlDeviceGetNumFans(gpu) == 0


def test_processes_and_the_memory_that_they_hold(nvml, bench):
    """As the state has them."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    bench.put("busy", {"processes": "101:1048576 202:2097152"}, 0)

    found = nvml.nvmlDeviceGetComputeRunningProcesses(gpu)
    assert [(each.pid, each.usedGpuMemory) for each in found] == [(101, 2**20), (202, 2**21)]


def test_energy_only_grows(nvml):
    """Power over the time since the boot."""
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    before = nvml.nvmlDeviceGetTotalEnergyConsumption(gpu)
    time.sleep(0.1)

    assert nvml.nvmlDeviceGetTotalEnergyConsumption(gpu) > before
