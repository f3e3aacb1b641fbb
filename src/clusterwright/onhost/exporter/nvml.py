"""Call libnvidia-ml.so.1 by ctypes; a query returns a number, or None if this GPU or driver does not support it."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, c_uint, c_ulonglong, c_void_p
from typing import List, Optional

LIBRARY = "libnvidia-ml.so.1"
# nvmlReturn_t: codes that a working driver and GPU may return
OK, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND = 0, 3, 4, 6
UNKNOWN = (2, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, 13, 25)
GPU_IS_LOST = 15
_BUFFER_SIZE = 96


class NvmlError(Exception):
    """An error that ends the collection: the library must be loaded again, or a GPU is lost."""

    def __init__(self, function: str, code: int) -> None:
        super().__init__(f"{function}: NVML error {code}")
        self.code = code


class _Memory(ctypes.Structure):
    """The C struct nvmlMemory_v2_t."""

    _fields_ = [("version", c_uint)] + [(name, c_ulonglong) for name in ("total", "reserved", "free", "used")]


class Nvml:
    """The library, loaded and initialized.

    Raises:
        OSError: the library is missing.
        NvmlError: there is no driver, or its version differs from the library's.
    """

    def __init__(self) -> None:
        self._library = ctypes.CDLL(LIBRARY)
        self._check("nvmlInit_v2")

    def query(self, function: str, *arguments: object) -> bool:
        """Call an NVML function; return True if it filled its arguments, False if it is not supported.

        Raises:
            NvmlError: any other code of the driver.
        """
        try:
            code = getattr(self._library, function)(*arguments)
        except AttributeError:  # an older driver
            return False
        if code and code not in UNKNOWN:
            raise NvmlError(function, code)
        return not code

    def _check(self, function: str, *arguments: object) -> None:
        if not self.query(function, *arguments):
            raise NvmlError(function, NOT_SUPPORTED)

    def driver(self) -> str:
        """Return the version of the GPU driver."""
        buffer = ctypes.create_string_buffer(_BUFFER_SIZE)
        self.query("nvmlSystemGetDriverVersion", buffer, c_uint(_BUFFER_SIZE))
        return buffer.value.decode("ascii", "replace")

    def gpus(self) -> List[NvmlGpu]:
        """Return the GPUs that respond; the driver also counts lost ones."""
        count = c_uint()
        self._check("nvmlDeviceGetCount_v2", byref(count))
        gpus = []
        for index in range(count.value):
            handle = c_void_p()
            try:
                if self.query("nvmlDeviceGetHandleByIndex_v2", c_uint(index), byref(handle)):
                    gpu = NvmlGpu(self, index, handle)
                    gpu.uuid = gpu.text("nvmlDeviceGetUUID")
                    gpus.append(gpu)
            except NvmlError as error:
                if error.code != GPU_IS_LOST:
                    raise
        return gpus


class NvmlGpu:
    """One GPU that responds, with a function for each query."""

    def __init__(self, nvml: Nvml, index: int, handle: c_void_p) -> None:
        self._nvml, self.index, self._handle, self.uuid = nvml, index, handle, ""

    def text(self, function: str) -> str:
        """Return a text property of the GPU by the name of its NVML function; "" if it has none."""
        buffer = ctypes.create_string_buffer(_BUFFER_SIZE)
        self._nvml.query(function, self._handle, buffer, c_uint(_BUFFER_SIZE))
        return buffer.value.decode("utf-8", "replace")

    def number(self, function: str, *arguments: int) -> Optional[int]:
        """Return a 32-bit property of the GPU by the name of its NVML function; None if it does not support it.

        Raises:
            NvmlError: another failure.
        """
        value = c_uint()
        is_supported = self._nvml.query(function, self._handle, *map(c_uint, arguments), byref(value))
        return value.value if is_supported else None

    def big(self, function: str, *arguments: int) -> Optional[int]:
        """Return a 64-bit property of the GPU by the name of its NVML function; None if it does not support it."""
        value = c_ulonglong()
        is_supported = self._nvml.query(function, self._handle, *map(c_uint, arguments), byref(value))
        return value.value if is_supported else None

    def several(self, function: str, count: int) -> List[Optional[int]]:
        """Return `count` 32-bit values that one call of an NVML function fills in; all None if unsupported."""
        values = [c_uint() for _ in range(count)]
        is_supported = self._nvml.query(function, self._handle, *map(byref, values))
        return [value.value if is_supported else None for value in values]

    def busy(self) -> Optional[int]:
        """Return the percentage of the last sample period in which kernels ran; None if the driver does not support it.

        Raises:
            NvmlError: the query failed.
        """
        rates = (c_uint * 2)()
        return rates[0] if self._nvml.query("nvmlDeviceGetUtilizationRates", self._handle, rates) else None

    def memory(self) -> List[Optional[int]]:
        """Return the GPU's memory in use and in total, in bytes; None for both if the driver does not support it."""
        info = _Memory(version=ctypes.sizeof(_Memory) | 2 << 24)
        if self._nvml.query("nvmlDeviceGetMemoryInfo_v2", self._handle, byref(info)):
            return [info.used, info.total]
        legacy_info = (c_ulonglong * 3)()  # drivers before 510: total, free, used
        is_supported = self._nvml.query("nvmlDeviceGetMemoryInfo", self._handle, legacy_info)
        return [legacy_info[2], legacy_info[0]] if is_supported else [None, None]

    def link(self, number: int) -> Optional[bool]:
        """Return whether the GPU's NVLink with this number is active; None if there is no such link."""
        active = c_int()
        is_supported = self._nvml.query(
            "nvmlDeviceGetNvLinkState", self._handle, c_uint(number), byref(active)
        )
        return bool(active.value) if is_supported else None
