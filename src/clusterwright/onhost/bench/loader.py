"""How fast torch's DataLoader feeds a training from a folder: many small files in random order, and large shards.

Given `folder`, `samples`, `sample_bytes`, `shards`. Prints a JSON object: samples a second by kind, by whether the page
cache had them, and by number of workers. Needs torch; Python 3.8 or later.
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
WARM = 2  # passes over what the page cache has; the first one may have been disturbed
PAGE_BYTES = 4096

Json = Dict[str, Any]


def main() -> None:
    """In a folder of this host's own, which is gone afterwards."""
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
    """Samples of one size, in files of one or of many; each is checked to be the one that was asked for."""

    def __init__(self, names: List[str], samples_per_file: int, size: int) -> None:
        """So many samples in each file, one after the other."""
        self.names, self.samples_per_file, self.size = names, samples_per_file, size

    def __len__(self) -> int:
        """Of all files."""
        return len(self.names) * self.samples_per_file

    def __getitem__(self, index: int) -> Any:
        """Read anew, as a training does whose data does not fit into memory."""
        with open(self.names[index // self.samples_per_file], "rb") as file:
            file.seek(index % self.samples_per_file * self.size)
            sample = file.read(self.size)
        if sample[:8] != index.to_bytes(8, "little") or len(sample) != self.size:
            raise ValueError("sample %d of %s is not what was written" % (index, file.name))
        return torch.frombuffer(bytearray(sample), dtype=torch.uint8)


def files(folder: str, options: Json) -> Samples:
    """A file for each sample."""
    return write_samples(folder, "file", options["samples"], 1, options["sample_bytes"])


def shards(folder: str, options: Json) -> Samples:
    """The same samples in few files."""
    return write_samples(
        folder, "shard", options["shards"], options["samples"] // options["shards"], options["sample_bytes"]
    )


def write_samples(folder: str, name: str, count: int, samples_per_file: int, size: int) -> Samples:
    """Written and on disk, so that the page cache can be told to forget them; each sample begins with its number."""
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
    """With each number of workers: first what the page cache does not have, where that can be had; then what it has."""
    for workers in numbers_of_workers(len(os.sched_getaffinity(0))):
        for path in data.names:
            forget(path)
        cold = not any(cached(path) for path in data.names)
        for cache in (["cold"] if cold else []) + ["warm"] * WARM:
            rate = samples_per_s(data, workers, shuffle=kind == "files")
            yield {"kind": kind, "cache": cache, "workers": workers, "samples_per_s": rate}


def numbers_of_workers(cores: int) -> List[int]:
    """None, 1, 2, 4 ... and no more than cores."""
    return [0] + [
        1 << power for power in range(MOST_WORKERS.bit_length()) if 1 << power <= min(cores, MOST_WORKERS)
    ]


def samples_per_s(data: Samples, workers: int, *, shuffle: bool) -> float:
    """After the first batch, until all are there: workers have been started by then.

    Raises:
        ValueError: a sample is not what was written, or is missing.
    """
    loader = DataLoader(data, batch_size=BATCH, shuffle=shuffle, num_workers=workers)
    batches = iter(loader)
    remaining = len(data) - len(next(batches))
    began = time.perf_counter()
    for batch in batches:
        remaining -= len(batch)
    if remaining:
        raise ValueError("%d samples too few were loaded" % remaining)
    return (len(data) - BATCH) / (time.perf_counter() - began)


def forget(path: str) -> None:
    """The page cache of this host is asked to; that of a file server keeps what it has."""
    on(path, lambda file: os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED))


def cached(path: str) -> bool:
    """True where the first page is at hand, or nobody can say: then nothing is called cold."""

    def now(file: int) -> bool:
        try:
            return os.preadv(file, [bytearray(PAGE_BYTES)], 0, os.RWF_NOWAIT) > 0
        except BlockingIOError:
            return False
        except OSError:
            return True

    return bool(on(path, now))


def on(path: str, work: Callable[[int], Any]) -> Any:
    """Done with the file open."""
    file = os.open(path, os.O_RDONLY)
    try:
        return work(file)
    finally:
        os.close(file)


if __name__ == "__main__":
    main()
