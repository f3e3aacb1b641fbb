"""Call libnvidia-ml.so.1 by ctypes; errors are NVML's own."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import byref, c_int, c_uint, c_ulonglong, c_void_p
from typing import Any

NOT_SUPPORTED, FUNCTION_NOT_FOUND, CORRUPTED_INFOROM, GPU_IS_LOST = 3, 13, 14, 15
LIBRARY = "libnvidia-ml.so.1"
_BUFFER_SIZE = 96


class NvmlError(Exception):
    """An NVML error: its code and NVML's message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class SimulatedProcess(ctypes.Structure):
    """The C struct nvmlProcessInfo_t."""

    _fields_ = (
        ("pid", c_uint),
        ("used", c_ulonglong),
        ("gpu_instance", c_uint),
        ("compute_instance", c_uint),
    )


class SimulatedMemory(ctypes.Structure):
    """The C struct nvmlMemory_v2_t."""

    _fields_ = (
        ("version", c_uint),
        ("total", c_ulonglong),
        ("reserved", c_ulonglong),
        ("free", c_ulonglong),
        ("used", c_ulonglong),
    )


class Field(ctypes.Structure):
    """The C struct nvmlFieldValue_t, for integer values."""

    _fields_ = (
        ("field", c_uint),
        ("scope", c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency", ctypes.c_longlong),
        ("kind", c_int),
        ("answer", c_int),
        ("value", c_ulonglong),
    )


class Nvml:
    """libnvidia-ml.so.1, loaded and initialized."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(LIBRARY)
        self._library.nvmlErrorString.restype = ctypes.c_char_p
        self.call("nvmlInit_v2")

    def call(self, function: str, *arguments: Any) -> None:
        """Call an NVML function with these arguments; its results are in them.

        Raises:
            NvmlError: It returned an error, or the library lacks the function.
        """
        try:
            code = getattr(self._library, function)(*arguments)
        except AttributeError:
            raise NvmlError(FUNCTION_NOT_FOUND, "Function Not Found") from None
        if code:
            raise NvmlError(code, self._library.nvmlErrorString(code).decode())

    def text(self, function: str) -> str:
        """Call an NVML function that returns a text about the system, such as the driver's version; return the text.

        Raises:
            NvmlError: the function fails.
        """
        buffer = ctypes.create_string_buffer(_BUFFER_SIZE)
        self.call(function, buffer, c_uint(_BUFFER_SIZE))
        return buffer.value.decode()

    def cuda(self) -> str:
        """Return the newest CUDA version that the driver supports, as 12.4; NVML returns 12040."""
        version = c_int()
        self.call("nvmlSystemGetCudaDriverVersion_v2", byref(version))
        return f"{version.value // 1000}.{version.value % 1000 // 10}"

    def count(self) -> int:
        """Return the number of GPUs of the driver, lost ones included."""
        count = c_uint()
        self.call("nvmlDeviceGetCount_v2", byref(count))
        return count.value

    def gpu(self, index: int) -> SimulatedGpu:
        """Return the GPU with that index of the driver."""
        handle = c_void_p()
        self.call("nvmlDeviceGetHandleByIndex_v2", c_uint(index), byref(handle))
        return SimulatedGpu(self, index, handle)


class SimulatedGpu:
    """One GPU that the driver has found, with a function for each query."""

    def __init__(self, nvml: Nvml, index: int, handle: c_void_p) -> None:
        self.nvml, self.index, self.handle = nvml, index, handle

    def text(self, function: str) -> str:
        """Call an NVML function that returns a text about the GPU, such as its name, and return the text.

        Raises:
            NvmlError: the function fails.
        """
        buffer = ctypes.create_string_buffer(_BUFFER_SIZE)
        self.nvml.call(function, self.handle, buffer, c_uint(_BUFFER_SIZE))
        return buffer.value.decode()

    def number(self, function: str, *arguments: int) -> int:
        """Call an NVML function of the GPU, with further arguments, and return its 32-bit number."""
        number = c_uint()
        self.nvml.call(function, self.handle, *map(c_uint, arguments), byref(number))
        return number.value

    def big(self, function: str, *arguments: int) -> int:
        """Call an NVML function of the GPU, with further arguments, and return its 64-bit number."""
        number = c_ulonglong()
        self.nvml.call(function, self.handle, *map(c_uint, arguments), byref(number))
        return number.value

    def numbers(self, function: str, count: int) -> list[int]:
        """Call an NVML function of the GPU that returns `count` numbers, and return those."""
        numbers = [c_uint() for _ in range(count)]
        self.nvml.call(function, self.handle, *map(byref, numbers))
        return [number.value for number in numbers]

    def utilization(self) -> tuple[int, int]:
        """Return the recent utilization of the GPU's processors and of its memory, in percent."""
        rates = (c_uint * 2)()
        self.nvml.call("nvmlDeviceGetUtilizationRates", self.handle, rates)
        return rates[0], rates[1]

    def retired_pages(self, cause: int) -> int:
        """Return the number of the GPU's memory pages retired for that cause (NVML's number)."""
        count, pages = c_uint(512), (c_ulonglong * 512)()
        self.nvml.call("nvmlDeviceGetRetiredPages", self.handle, c_int(cause), byref(count), pages)
        return count.value

    def common_ancestor(self, peer: SimulatedGpu) -> int:
        """Return NVML's topology level of the closest common ancestor of both GPUs on the PCI bus."""
        level = c_uint()
        self.nvml.call("nvmlDeviceGetTopologyCommonAncestor", self.handle, peer.handle, byref(level))
        return level.value

    def memory(self) -> SimulatedMemory:
        """Return the GPU's memory (total, used, free) in bytes."""
        memory = SimulatedMemory(version=ctypes.sizeof(SimulatedMemory) | 2 << 24)
        self.nvml.call("nvmlDeviceGetMemoryInfo_v2", self.handle, byref(memory))
        return memory

    def pci(self) -> str:
        """Return the GPU's PCI address, as 00000000:07:00.0."""
        layout = ctypes.create_string_buffer(68)  # nvmlPciInfo_t: busId is in its last 32 bytes
        self.nvml.call("nvmlDeviceGetPciInfo_v3", self.handle, layout)
        return layout.raw[36:].split(b"\0")[0].decode()

    def pci_ids(self) -> tuple[int, int]:
        """Return the GPU's PCI device and subsystem IDs."""
        layout = (c_uint * 17)()
        self.nvml.call("nvmlDeviceGetPciInfo_v3", self.handle, layout)
        return layout[7], layout[8]

    def field(self, number: int) -> int:
        """Return the value of an NVML field (nvmlFieldValue_t) of the GPU, by its number.

        Raises:
            NvmlError: the GPU does not support the field.
        """
        field = Field(field=number)
        self.nvml.call("nvmlDeviceGetFieldValues", self.handle, c_int(1), byref(field))
        if field.answer:
            raise NvmlError(field.answer, "Not Supported")
        return int(field.value)

    def processes(self) -> Iterator[SimulatedProcess]:
        """Yield the processes that compute on the GPU."""
        capacity = c_uint(64)
        buffer = (SimulatedProcess * capacity.value)()
        self.nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", self.handle, byref(capacity), buffer)
        yield from buffer[: capacity.value]
