"""Loads this host for a while, verifies every result, and says how much it did in each slice of that time.

Given `seconds`, `slice_s`, `memory_bytes`, `folders` (local disks), `disk_bytes`, `threads` (0: as many as cores),
`size` (of CPU matrices), `gpu_size`, and `pair`: what `pair.py` beside this file is given, or nothing. At the same
time: products of matrices on all cores and each GPU, whose bits must be those of the first; patterns written to
memory, of GPUs too, and read back; files written and read back by their checksum; a stream to another host. Needs
torch; Python 3.8 or later.
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

GPU_SHARE = 0.5  # of the memory that is free there
GPU_PIECE = 1 << 30  # a pattern is written and read back in pieces of so many bytes
PATTERNS = (0x55, 0xAA, 0x00, 0xFF)
BLOCK = 1 << 20
SAMPLE_S = 1.0
SMI_S = 20.0
METRICS = ("temperature", "clock", "power")
QUERY = "temperature.gpu,clocks.sm,power.draw"
SMI = ["nvidia-smi", "--query-gpu=" + QUERY, "--format=csv,noheader,nounits"]

Json = Dict[str, Any]


class Load:
    """One kind of work done again and again: how much in each slice, how often wrong, and the first result's sum."""

    def __init__(self, name: str, steps: Callable[[], Iterator[float]]) -> None:
        """`steps` yields how much each step did, and raises ValueError for a result that is wrong."""
        self.name, self.steps = name, steps
        self.amounts, self.wrong, self.why, self.broken = [], [], "", ""  # type: List[float], List[str], str, str

    def run(self, began: float, options: Json) -> None:
        """Until the time is over; a wrong result is counted and the work goes on."""
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
        """Done in that slice."""
        self.amounts += [0.0] * (index + 1 - len(self.amounts))
        self.amounts[index] += amount


def main() -> None:
    """All loads at the same time."""
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


def chosen(options: Json, sums: Dict[str, int]) -> Iterator[Load]:
    """The work of this host."""
    cpu = torch.device("cpu")
    yield Load("cpu products", partial(products, cpu, options["size"], sums))
    yield Load("memory", partial(patterns, cpu, options["memory_bytes"]))
    for folder in options["folders"]:
        yield Load("disk " + folder, partial(files, job_folder(folder), options["disk_bytes"]))
    for index in range(torch.cuda.device_count()):
        gpu = torch.device("cuda", index)
        size = int(torch.cuda.mem_get_info(index)[0] * GPU_SHARE)
        yield Load("gpu%d products" % index, partial(products, gpu, options["gpu_size"], sums))
        yield Load("gpu%d memory" % index, partial(patterns, gpu, size))


def products(device: Any, size: int, sums: Dict[str, int]) -> Iterator[float]:
    """Operations of each product; its bits are those of the first one.

    Raises:
        ValueError: they are not.
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
    """Bytes written and read back.

    Raises:
        ValueError: what was read is not what was written.
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
                    raise ValueError("%d bytes of a pattern %#04x were read back otherwise" % (bad, pattern))
                yield 2.0 * piece.numel()


def files(folder: str, size: int) -> Iterator[float]:
    """Bytes written through to the disk, and read back from it.

    Raises:
        ValueError: their checksum is not that of what was written.
    """
    path = os.path.join(folder, ".wright-burn-in-%s-%d" % (os.uname().nodename, os.getpid()))
    block = os.urandom(BLOCK)
    try:
        while True:
            checksum = write(path, block, size)
            yield float(size)
            if read(path) != checksum:
                raise ValueError("a file of %d bytes was read back otherwise" % size)
            yield float(size)
    finally:
        if os.path.exists(path):
            os.unlink(path)


def write(path: str, block: bytes, size: int) -> int:
    """The checksum of what was written; the page cache has forgotten it."""
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
    """The checksum of what is there."""
    total = 0
    with open(path, "rb") as file:
        while True:
            block = file.read(BLOCK)
            if not block:
                return total
            total = zlib.crc32(block, total)


def job_folder(folder: str) -> str:
    """The job's own folder in it, which the prolog makes on a local disk; else the folder."""
    scratch = os.environ.get("SCRATCH", "")
    return scratch if scratch.startswith(folder.rstrip("/") + "/") else folder


def sample(heat: Dict[str, List[float]]) -> None:
    """Degrees, clocks and watts at this moment."""
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
    """A line for each GPU; none where there is no driver, or it does not answer."""
    if not shutil.which("nvidia-smi"):
        return []
    result = processes.run(SMI, SMI_S)
    return result.out.splitlines() if result.ok else []


def begin_pair(options: Optional[Json]) -> Optional[processes.Process]:
    """The stream to or from another host, which has its own limits."""
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
    """What the client measured; why, where it ended otherwise."""
    if process is None:
        return None
    result = processes.collect(process, options["seconds"] + 60)
    if result.stopped:
        return {"failed": "its stream did not end"}
    if not result.ok:
        return {"failed": (result.err.strip().splitlines() or ["(nothing)"])[-1]}
    return {"said": json.loads(result.out)} if result.out.strip() else {}


if __name__ == "__main__":
    main()
