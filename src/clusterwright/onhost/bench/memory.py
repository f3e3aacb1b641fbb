"""Measures this host's memory bandwidth by two operations of STREAM on all cores, with torch.

Prints a JSON object: bytes/s of `copy` (a = b) and `triad` (a = b + s * c), the best of several, counted as STREAM
does (bytes read and written, without cache-line fetches for writes). Python 3.8 or later.
"""

import json
import os
import sys
import time
from typing import Any, Callable

import torch

REPEATS = 8
B, C, SCALE = 2.0, 3.0, 3.0  # whole numbers, so that sums are exact
TIMES_CACHE = 4  # STREAM's rule: each array at least four times the size of all last-level caches
LEAST_BYTES, MOST_SHARE = 1 << 26, 16  # an array is at most 1/16 of the memory


def main() -> None:
    """Measure the memory bandwidth by copy and triad on three arrays larger than the caches; print it as JSON."""
    options = json.load(sys.stdin)
    count = array_bytes(options["memory_bytes"]) // 8
    a, b, c = (torch.full((count,), value, dtype=torch.float64) for value in (0.0, B, C))
    rates = {
        "copy": 2 * count * 8 / best(lambda: a.copy_(b)),
        "triad": 3 * count * 8 / best(lambda: torch.add(b, c, alpha=SCALE, out=a)),
    }
    is_correct = bool((a == B + SCALE * C).all())
    json.dump(
        dict(rates, right=is_correct, array_bytes=count * 8, threads=torch.get_num_threads()), sys.stdout
    )


def array_bytes(memory_bytes: int) -> int:
    """Return the bytes of one array: 4 times all last-level caches, at least 64 MiB, at most 1/16 of the memory."""
    return min(max(LEAST_BYTES, TIMES_CACHE * last_level_bytes()), memory_bytes // MOST_SHARE)


def last_level_bytes() -> int:
    """Return the sum of all last-level caches; 0 if the kernel does not report them."""
    caches = {}  # type: "dict[str, int]"
    base = "/sys/devices/system/cpu"
    for name in os.listdir(base):
        index = os.path.join(base, name, "cache", "index3")
        try:
            with (
                open(os.path.join(index, "shared_cpu_list")) as shared,
                open(os.path.join(index, "size")) as size,
            ):
                caches[shared.read()] = int(size.read().strip().rstrip("K")) * 1024
        except (OSError, ValueError):
            continue
    return sum(caches.values())


def best(work: Callable[[], Any]) -> float:
    """Return the seconds of the fastest of several calls."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


if __name__ == "__main__":
    main()
