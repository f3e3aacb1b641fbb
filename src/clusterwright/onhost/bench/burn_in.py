"""Loads this host for a while, verifies every result, and reports the amount of work in each time slice.

Input: `seconds`, `slice_s`, `memory_bytes`, `folders` (local disks), `disk_bytes`, `threads` (0: all cores), `size`
(of CPU matrices), `gpu_size`, and `pair`: the input of `pair.py` beside this file, or null. Concurrently: matrix
products on all cores and each GPU, which must be bit-identical to the first; patterns written to host and GPU memory
and read back; files written and read back by checksum; a stream to another host. Needs torch; Python 3.8 or later.
"""

import glob
import json
import os
import shutil
import sys
import threading
import time
import zlib
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Optional

import torch

from clusterwright.onhost.lib import processes

GPU_SHARE = 0.5  # of the GPU's free memory
GPU_PIECE = 1 << 30  # bytes of a pattern that are written and read back at a time
PATTERNS = (0x55, 0xAA, 0x00, 0xFF)
BLOCK = 1 << 20
SAMPLE_S = 1.0
SMI_S = 20.0
METRICS = ("temperature", "clock", "power")
QUERY = "temperature.gpu,clocks.sm,power.draw"
SMI = ["nvidia-smi", "--query-gpu=" + QUERY, "--format=csv,noheader,nounits"]

Json = Dict[str, Any]


class BurnInLoad:
    """One kind of work on this host, repeated: the amount done in each time slice, and wrong results."""

    def __init__(self, name: str, steps: Callable[[], Iterator[float]]) -> None:
        """Take `steps`, which yields the amount of each step and raises ValueError for a wrong result."""
        self.name, self.steps = name, steps
        self.amounts, self.wrong, self.reason, self.broken = [], [], "", ""  # type: List[float], List[str], str, str

    def run(self, began: float, options: Json) -> None:
        """Repeat the load's steps for `options["seconds"]` from `began` (monotonic) on; count the work by time slice.

        A wrong result is recorded, and the load continues; another error is stored in `broken` and ends it.
        """
        while time.monotonic() < began + options["seconds"] and not self.broken:
            try:
                for amount in self.steps():
                    self.add(amount, int((time.monotonic() - began) / options["slice_s"]))
                    if time.monotonic() >= began + options["seconds"]:
                        return
            except ValueError as error:
                self.wrong.append(str(error))
            except (RuntimeError, OSError) as error:
                self.broken = (str(error).splitlines() or [repr(error)])[0][:300]

    def add(self, amount: float, index: int) -> None:
        """Add an amount of work, in the load's own unit, to its time slice of that index."""
        self.amounts += [0.0] * (index + 1 - len(self.amounts))
        self.amounts[index] += amount


def main() -> None:
    """Run all loads of the JSON options on stdin concurrently, and print rates, errors and temperatures as JSON."""
    options = json.load(sys.stdin)
    if options["threads"]:
        torch.set_num_threads(options["threads"])
    sums = {}  # type: Dict[str, int]
    loads = list(chosen(options, sums))
    began = time.monotonic()
    threads = [threading.Thread(target=load.run, args=(began, options), daemon=True) for load in loads]
    heat = {}  # type: Dict[str, List[float]]
    pair = begin_pair(options.get("pair"))
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        sample(heat)
        time.sleep(SAMPLE_S)
    slice_count = max(1, int(options["seconds"] / options["slice_s"]))
    json.dump(
        {
            "rates": {
                load.name: [amount / options["slice_s"] for amount in load.amounts[:slice_count]]
                for load in loads
            },
            "wrong": {load.name: load.wrong[:5] for load in loads if load.wrong},
            "broken": {load.name: load.broken for load in loads if load.broken},
            "sums": sums,
            "heat": heat,
            "pair": end_pair(pair, options),
        },
        sys.stdout,
    )


def chosen(options: Json, sums: Dict[str, int]) -> Iterator[BurnInLoad]:
    """Yield the loads to run on this host: CPU products, memory, each disk, and products and memory of each GPU.

    `sums` collects the checksum of each product.
    """
    cpu = torch.device("cpu")
    yield BurnInLoad("cpu products", partial(products, cpu, options["size"], sums))
    yield BurnInLoad("memory", partial(patterns, cpu, options["memory_bytes"]))
    for folder in options["folders"]:
        yield BurnInLoad("disk " + folder, partial(files, job_folder(folder), options["disk_bytes"]))
    for index in range(torch.cuda.device_count()):
        gpu = torch.device("cuda", index)
        size = int(torch.cuda.mem_get_info(index)[0] * GPU_SHARE)
        yield BurnInLoad("gpu%d products" % index, partial(products, gpu, options["gpu_size"], sums))
        yield BurnInLoad("gpu%d memory" % index, partial(patterns, gpu, size))


def products(device: Any, size: int, sums: Dict[str, int]) -> Iterator[float]:
    """Multiply two fixed matrices repeatedly on the device; yield the operations of each product.

    Raises:
        ValueError: a product differs from the first one.
    """
    kind = torch.float32 if device.type == "cpu" else torch.bfloat16
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(size, size, generator=generator).to(kind).to(device) for _ in range(2))
    reference = a @ b
    sums[str(device)] = zlib.crc32(reference.float().cpu().numpy().tobytes())
    while True:
        product = a @ b
        if not torch.equal(reference, product):
            raise ValueError(
                "%d of %d elements of a product differ" % (int((reference != product).sum()), size * size)
            )
        yield 2.0 * size**3


def patterns(device: Any, size: int) -> Iterator[float]:
    """Write patterns to `size` bytes of the device's memory, repeatedly; yield each piece's bytes once read back.

    Raises:
        ValueError: the bytes read differ from those written.
    """
    pieces = [
        torch.empty(min(GPU_PIECE, size), dtype=torch.uint8, device=device)
        for _ in range(max(1, size // GPU_PIECE))
    ]
    while True:
        for pattern in PATTERNS:
            for piece in pieces:
                piece.fill_(pattern)
            for piece in pieces:
                bad = int((piece != pattern).sum())
                if bad:
                    raise ValueError("bytes of pattern %#04x that differ when read back: %d" % (pattern, bad))
                yield 2.0 * piece.numel()


def files(folder: str, size: int) -> Iterator[float]:
    """Write a file of `size` bytes, then read it back, repeatedly; yield the bytes written, then those read.

    Raises:
        ValueError: the checksum read differs from the one written.
    """
    path = os.path.join(folder, ".wright-burn-in-%s-%d" % (os.uname().nodename, os.getpid()))
    block = os.urandom(BLOCK)
    try:
        while True:
            checksum = write(path, block, size)
            yield float(size)
            if read(path) != checksum:
                raise ValueError("a file of %d bytes differs when read back" % size)
            yield float(size)
    finally:
        if os.path.exists(path):
            os.unlink(path)


def write(path: str, block: bytes, size: int) -> int:
    """Write about `size` bytes to the file from repeated blocks, sync it, and drop it from the page cache.

    Return the CRC-32 of what was written.
    """
    total = 0
    with open(path, "wb") as file:
        for _ in range(max(1, size // BLOCK)):
            file.write(block)
            total = zlib.crc32(block, total)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return total


def read(path: str) -> int:
    """Read the whole file and return the CRC-32 of its content."""
    total = 0
    with open(path, "rb") as file:
        while True:
            block = file.read(BLOCK)
            if not block:
                return total
            total = zlib.crc32(block, total)


def job_folder(folder: str) -> str:
    """Return the job's own folder (SCRATCH) if it is below the folder, else the folder."""
    scratch = os.environ.get("SCRATCH", "")
    return scratch if scratch.startswith(folder.rstrip("/") + "/") else folder


def sample(heat: Dict[str, List[float]]) -> None:
    """Append the present CPU temperatures, and each GPU's readings of nvidia-smi, to `heat` by name.

    Readings that fail or are no numbers are left out.
    """
    for path in glob.glob("/sys/class/hwmon/hwmon*/temp*_input"):
        try:
            with open(path) as file:
                heat.setdefault("cpu temperature", []).append(int(file.read()) / 1000)
        except (OSError, ValueError):
            continue
    for index, line in enumerate(query_smi()):
        for column, cell in enumerate(line.split(",")):
            try:
                heat.setdefault("gpu%d %s" % (index, METRICS[column]), []).append(float(cell))
            except ValueError:
                continue


def query_smi() -> List[str]:
    """Return nvidia-smi's line for each GPU; none without a driver or response."""
    if not shutil.which("nvidia-smi"):
        return []
    result = processes.run(SMI, SMI_S)
    return result.out.splitlines() if result.ok else []


def begin_pair(options: Optional[Json]) -> Optional[processes.Process]:
    """Start and return pair.py, a stream to or from another host; None if none is requested."""
    if not options:
        return None
    program = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "pair.py")
    pipe = processes.PIPE
    process = processes.start([sys.executable, program], stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin
    process.stdin.write(json.dumps(options).encode())
    process.stdin.close()
    process.stdin = None
    return process


def end_pair(process: Optional[processes.Process], options: Json) -> Optional[Json]:
    """Wait for pair.py; return the client's report (`said`), {} for a server, or the failure; None without a pair."""
    if process is None:
        return None
    result = processes.collect(process, options["seconds"] + 60)
    if result.stopped:
        return {"failed": "the stream did not end"}
    if not result.ok:
        return {"failed": (result.err.strip().splitlines() or ["(nothing)"])[-1]}
    return {"said": json.loads(result.out)} if result.out.strip() else {}


if __name__ == "__main__":
    main()
