"""Measures how fast torch's DataLoader reads a folder: many small files in random order, and large shards.

Input: `folder`, `samples`, `sample_bytes`, `shards`. Prints a JSON object: samples per second by kind, by page cache
(cold or warm), and by number of workers. Needs torch; Python 3.8 or later.
"""

import json
import os
import shutil
import sys
import time
from typing import Any, Callable, Dict, Iterator, List

import torch
from torch.utils.data import DataLoader, Dataset

MOST_WORKERS = 16
BATCH = 16
WARM = 2  # warm passes; other load may have disturbed the first one
PAGE_BYTES = 4096

Json = Dict[str, Any]


def main() -> None:
    """Measure torch's DataLoader in a temporary folder of this host, remove the folder, and print the rates as JSON."""
    options = json.load(sys.stdin)
    folder = os.path.join(options["folder"], ".wright-bench-%s-%d" % (os.uname().nodename, os.getpid()))
    os.mkdir(folder)
    try:
        kinds = {"files": files(folder, options), "shards": shards(folder, options)}
        rates = [row for kind, data in kinds.items() for row in measure(kind, data)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    json.dump({"rates": rates, "sample_bytes": options["sample_bytes"]}, sys.stdout)


class Samples(Dataset[Any]):
    """Samples of one size, one or many per file; each is verified to be the requested one."""

    def __init__(self, names: List[str], samples_per_file: int, size: int) -> None:
        """Take the files, each with `samples_per_file` samples in a row."""
        self.names, self.samples_per_file, self.size = names, samples_per_file, size

    def __len__(self) -> int:
        """Return the number of samples in all files."""
        return len(self.names) * self.samples_per_file

    def __getitem__(self, index: int) -> Any:
        """Read a sample from its file each time, as training does if its data exceed the memory; verify its index."""
        with open(self.names[index // self.samples_per_file], "rb") as file:
            file.seek(index % self.samples_per_file * self.size)
            sample = file.read(self.size)
        if sample[:8] != index.to_bytes(8, "little") or len(sample) != self.size:
            raise ValueError("sample %d of %s is not what was written" % (index, file.name))
        return torch.frombuffer(bytearray(sample), dtype=torch.uint8)


def files(folder: str, options: Json) -> Samples:
    """Write each sample to a file of its own, and return all as a data set for the loaders."""
    return write_samples(folder, "file", options["samples"], 1, options["sample_bytes"])


def shards(folder: str, options: Json) -> Samples:
    """Write as many samples as `files` does, but into few large files, and return them as a data set."""
    return write_samples(
        folder, "shard", options["shards"], options["samples"] // options["shards"], options["sample_bytes"]
    )


def write_samples(folder: str, name: str, count: int, samples_per_file: int, size: int) -> Samples:
    """Write and sync the samples, so that the page cache can drop them; return them as a data set.

    Each sample starts with its index.
    """
    names = [os.path.join(folder, "%s%05d" % (name, number)) for number in range(count)]
    filling = os.urandom(size - 8)
    for number, path in enumerate(names):
        with open(path, "wb") as file:
            numbers = range(number * samples_per_file, (number + 1) * samples_per_file)
            file.writelines(index.to_bytes(8, "little") + filling for index in numbers)
            file.flush()
            os.fsync(file.fileno())
    return Samples(names, samples_per_file, size)


def measure(kind: str, data: Samples) -> Iterator[Json]:
    """Yield the samples per second for each number of workers: with a cold page cache if possible, then a warm one."""
    for workers in numbers_of_workers(len(os.sched_getaffinity(0))):
        for path in data.names:
            forget(path)
        cold = not any(cached(path) for path in data.names)
        for cache in (["cold"] if cold else []) + ["warm"] * WARM:
            rate = samples_per_s(data, workers, shuffle=kind == "files")
            yield {"kind": kind, "cache": cache, "workers": workers, "samples_per_s": rate}


def numbers_of_workers(cores: int) -> List[int]:
    """Return 0, 1, 2, 4 ... up to the number of cores or MOST_WORKERS."""
    return [0] + [
        1 << power for power in range(MOST_WORKERS.bit_length()) if 1 << power <= min(cores, MOST_WORKERS)
    ]


def samples_per_s(data: Samples, workers: int, *, shuffle: bool) -> float:
    """Return the samples per second that a DataLoader with so many workers reads, after its first batch.

    Raises:
        ValueError: a sample is wrong or missing.
    """
    loader = DataLoader(data, batch_size=BATCH, shuffle=shuffle, num_workers=workers)
    batches = iter(loader)
    remaining = len(data) - len(next(batches))
    began = time.perf_counter()
    for batch in batches:
        remaining -= len(batch)
    if remaining:
        raise ValueError("samples missing: %d" % remaining)
    return (len(data) - BATCH) / (time.perf_counter() - began)


def forget(path: str) -> None:
    """Drop the file from this host's page cache; a file server's own cache remains."""
    on(path, lambda file: os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED))


def cached(path: str) -> bool:
    """Return True if the file's first page is cached, or the kernel cannot tell: then no read counts as cold."""

    def now(file: int) -> bool:
        try:
            return os.preadv(file, [bytearray(PAGE_BYTES)], 0, os.RWF_NOWAIT) > 0
        except BlockingIOError:
            return False
        except OSError:
            return True

    return bool(on(path, now))


def on(path: str, work: Callable[[int], Any]) -> Any:
    """Open the file for reading, call `work` with its descriptor, close it, and return what `work` returned."""
    file = os.open(path, os.O_RDONLY)
    try:
        return work(file)
    finally:
        os.close(file)


if __name__ == "__main__":
    main()
