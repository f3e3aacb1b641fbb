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
ASKED = ("temperature", "clock", "power")
QUERY = "temperature.gpu,clocks.sm,power.draw"
SMI = ["nvidia-smi", "--query-gpu=" + QUERY, "--format=csv,noheader,nounits"]

Json = Dict[str, Any]


class Load:
    """One kind of work done again and again: how much in each slice, how often wrong, and the first result's sum."""

    def __init__(self, name: str, steps: Callable[[], Iterator[float]]) -> None:
        """`steps` yields how much each step did, and raises ValueError for a result that is wrong."""
        self.name, self.steps = name, steps
        self.done, self.wrong, self.why, self.broken = [], [], "", ""  # type: List[float], List[str], str, str

    def run(self, began: float, given: Json) -> None:
        """Until the time is over; a wrong result is counted and the work goes on."""
        while time.monotonic() < began + given["seconds"] and not self.broken:
            try:
                for much in self.steps():
                    self.add(much, int((time.monotonic() - began) / given["slice_s"]))
                    if time.monotonic() >= began + given["seconds"]:
                        return
            except ValueError as why:
                self.wrong.append(str(why))
            except (RuntimeError, OSError) as why:
                self.broken = (str(why).splitlines() or [repr(why)])[0][:300]

    def add(self, much: float, index: int) -> None:
        """Done in that slice."""
        self.done += [0.0] * (index + 1 - len(self.done))
        self.done[index] += much


def main() -> None:
    """All loads at the same time."""
    given = json.load(sys.stdin)
    if given["threads"]:
        torch.set_num_threads(given["threads"])
    sums = {}  # type: Dict[str, int]
    loads = list(chosen(given, sums))
    began = time.monotonic()
    threads = [threading.Thread(target=each.run, args=(began, given), daemon=True) for each in loads]
    heat = {}  # type: Dict[str, List[float]]
    pair = begin_pair(given.get("pair"))
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        sample(heat)
        time.sleep(SAMPLE_S)
    whole = max(1, int(given["seconds"] / given["slice_s"]))
    json.dump(
        {
            "rates": {each.name: [much / given["slice_s"] for much in each.done[:whole]] for each in loads},
            "wrong": {each.name: each.wrong[:5] for each in loads if each.wrong},
            "broken": {each.name: each.broken for each in loads if each.broken},
            "sums": sums,
            "heat": heat,
            "pair": end_pair(pair, given),
        },
        sys.stdout,
    )


def chosen(given: Json, sums: Dict[str, int]) -> Iterator[Load]:
    """The work of this host."""
    cpu = torch.device("cpu")
    yield Load("cpu products", partial(products, cpu, given["size"], sums))
    yield Load("memory", partial(patterns, cpu, given["memory_bytes"]))
    for folder in given["folders"]:
        yield Load("disk " + folder, partial(files, own_part(folder), given["disk_bytes"]))
    for index in range(torch.cuda.device_count()):
        gpu = torch.device("cuda", index)
        size = int(torch.cuda.mem_get_info(index)[0] * GPU_SHARE)
        yield Load("gpu%d products" % index, partial(products, gpu, given["gpu_size"], sums))
        yield Load("gpu%d memory" % index, partial(patterns, gpu, size))


def products(device: Any, size: int, sums: Dict[str, int]) -> Iterator[float]:
    """Operations of each product; its bits are those of the first one.

    Raises:
        ValueError: they are not.
    """
    kind = torch.float32 if device.type == "cpu" else torch.bfloat16
    made = torch.Generator().manual_seed(1)
    one, other = (torch.randn(size, size, generator=made).to(kind).to(device) for _ in range(2))
    first = one @ other
    sums[str(device)] = zlib.crc32(first.float().cpu().numpy().tobytes())
    while True:
        again = one @ other
        if not torch.equal(first, again):
            raise ValueError(
                "%d of %d elements of a product differ" % (int((first != again).sum()), size * size)
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
            wanted = write(path, block, size)
            yield float(size)
            if read(path) != wanted:
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


def own_part(folder: str) -> str:
    """The job's own folder in it, which the prolog makes on a local disk; else the folder."""
    own = os.environ.get("SCRATCH", "")
    return own if own.startswith(folder.rstrip("/") + "/") else folder


def sample(heat: Dict[str, List[float]]) -> None:
    """Degrees, clocks and watts at this moment."""
    for place in glob.glob("/sys/class/hwmon/hwmon*/temp*_input"):
        try:
            with open(place) as file:
                heat.setdefault("cpu temperature", []).append(int(file.read()) / 1000)
        except (OSError, ValueError):
            continue
    for index, line in enumerate(asked_smi()):
        for at, word in enumerate(line.split(",")):
            try:
                heat.setdefault("gpu%d %s" % (index, ASKED[at]), []).append(float(word))
            except ValueError:
                continue


def asked_smi() -> List[str]:
    """A line for each GPU; none where there is no driver, or it does not answer."""
    if not shutil.which("nvidia-smi"):
        return []
    done = processes.run(SMI, SMI_S)
    return done.out.splitlines() if done.ok else []


def begin_pair(given: Optional[Json]) -> Optional[processes.Process]:
    """The stream to or from another host, which has its own limits."""
    if not given:
        return None
    program = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "pair.py")
    pipe = processes.PIPE
    process = processes.start([sys.executable, program], stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin
    process.stdin.write(json.dumps(given).encode())
    process.stdin.close()
    process.stdin = None
    return process


def end_pair(process: Optional[processes.Process], given: Json) -> Optional[Json]:
    """What the client measured; why, where it ended otherwise."""
    if process is None:
        return None
    done = processes.collect(process, given["seconds"] + 60)
    if done.stopped:
        return {"failed": "its stream did not end"}
    if not done.ok:
        return {"failed": (done.err.strip().splitlines() or ["(nothing)"])[-1]}
    return {"said": json.loads(done.out)} if done.out.strip() else {}


if __name__ == "__main__":
    main()
