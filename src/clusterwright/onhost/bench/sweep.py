"""One rank of a sweep of collectives, as nccl-tests does it: time, bandwidths, and the data verified.

Rank 0 prints one JSON line for each size of each operation. Needs torch; Python 3.8 or later.
"""

import json
import os
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch
import torch.distributed as dist

WARM_UP = 2
PIECES = 8  # at once: more than Gloo has threads for each of its connections (2), so that none waits

Json = Dict[str, Any]
Tensors = Tuple[Any, ...]


def main() -> None:
    """One rank of the sweep."""
    given = json.loads(sys.argv[1])
    device = device_of(given["backend"])
    dist.init_process_group(given["backend"])
    before = carried()
    try:
        for row in sweep(given, device):
            if dist.get_rank() == 0:
                sys.stdout.write(json.dumps(row) + "\n")
        after = carried()
        moved = {
            name: sent - before.get(name, 0) for name, sent in after.items() if sent > before.get(name, 0)
        }
        if dist.get_rank() == 0:
            sys.stdout.write(json.dumps({"carried": moved, "versions": versions()}) + "\n")
    finally:
        sys.stdout.flush()
        dist.destroy_process_group()


def device_of(backend: str) -> Any:
    """The GPU of this rank, or the CPU."""
    if backend != "nccl":
        return torch.device("cpu")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def sweep(given: Json, device: Any) -> Iterator[Json]:
    """One row for each operation and size; an operation that the backend does not have is said to be skipped."""
    for kind in given["kinds"]:
        for size in given["sizes"]:
            try:
                yield one(kind, size, given["iterations"], device)
            except (RuntimeError, NotImplementedError, ValueError) as why:
                yield {"kind": kind, "size": size, "skipped": str(why).splitlines()[0][:200]}
                break
        dist.barrier()


def one(kind: str, size: int, iterations: int, device: Any) -> Json:
    """The median time of one operation, by the slowest rank, after its data was found right."""
    ranks = dist.get_world_size()
    count = max(ranks, size // 4 // ranks * ranks)
    make, run, wrong = OPERATIONS[kind]
    tensors = make(count, ranks, device)
    run(*tensors)
    bad = wrong(tensors, dist.get_rank(), ranks)
    for _ in range(WARM_UP):
        run(*tensors)
    seconds = torch.tensor(timed(run, tensors, iterations, device), dtype=torch.float64, device=device)
    total = torch.tensor([bad], dtype=torch.int64, device=device)
    dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
    dist.all_reduce(total)
    median = float(seconds.cpu().sort().values[iterations // 2])
    alg = count * 4 / median
    return {
        "kind": kind,
        "size": count * 4,
        "count": count,
        "type": "float",
        "redop": "sum" if "reduce" in kind else "none",
        "time_us": median * 1e6,
        "algbw": alg / 1e9,
        "busbw": alg * bus_factor(kind, ranks) / 1e9,
        "wrong": int(total.item()),
        "ranks": ranks,
    }


def timed(run: Callable[..., None], tensors: Tensors, iterations: int, device: Any) -> List[float]:
    """Seconds of each of some calls, begun together."""
    found = []
    dist.barrier()
    for _ in range(iterations):
        began = time.perf_counter()
        run(*tensors)
        if device.type == "cuda":
            torch.cuda.synchronize()
        found.append(time.perf_counter() - began)
    return found


def bus_factor(kind: str, ranks: int) -> float:
    """Bus bandwidth over algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md)."""
    others = (ranks - 1) / ranks
    return {"all_reduce": 2 * others, "all_reduce_pieces": 2 * others, "broadcast": 1.0}.get(kind, others)


# Each operation: tensors for a count of elements, the call, and how many elements of its result are wrong.
# Rank r holds r + 1 everywhere, so sums are known and small enough for a float to hold them.


def made_sum(count: int, _ranks: int, device: Any) -> Tensors:
    """One tensor, and what it is before each call."""
    return (torch.full((count,), float(dist.get_rank() + 1), device=device),)


def made_pieces(count: int, ranks: int, device: Any) -> Tensors:
    """The tensor in pieces, as gradients travel in buckets."""
    (whole,) = made_sum(count, ranks, device)
    return tuple(whole.chunk(PIECES))


def made_gather(count: int, ranks: int, device: Any) -> Tensors:
    """The whole, and this rank's part."""
    (part,) = made_sum(count // ranks, ranks, device)
    return part.new_zeros(count), part


def made_scatter(count: int, ranks: int, device: Any) -> Tensors:
    """This rank's part, and the whole."""
    (whole,) = made_sum(count, ranks, device)
    return whole.new_zeros(count // ranks), whole


def made_all_to_all(count: int, ranks: int, device: Any) -> Tensors:
    """What comes, and what goes."""
    (goes,) = made_sum(count, ranks, device)
    return goes.new_zeros(count), goes


def all_reduce(whole: Any) -> None:
    """The sum everywhere."""
    dist.all_reduce(whole)


def all_reduce_pieces(*pieces: Any) -> None:
    """The sum everywhere, all pieces on their way at once."""
    for work in [dist.all_reduce(piece, async_op=True) for piece in pieces]:
        work.wait()


def broadcast(whole: Any) -> None:
    """What rank 0 has, everywhere."""
    dist.broadcast(whole, 0)


def all_gather(whole: Any, part: Any) -> None:
    """All parts everywhere."""
    dist.all_gather_into_tensor(whole, part)


def reduce_scatter(part: Any, whole: Any) -> None:
    """Each rank its part of the sum."""
    dist.reduce_scatter_tensor(part, whole)


def all_to_all(comes: Any, goes: Any) -> None:
    """Each rank's parts to all others."""
    dist.all_to_all_single(comes, goes)


def differing(found: Any, wanted: Any) -> int:
    """Elements that are not as wanted."""
    return int((found != wanted).sum().item())


def by_rank(whole: Any, ranks: int) -> Any:
    """The part of each rank r holds r + 1."""
    return torch.arange(1, ranks + 1, device=whole.device).repeat_interleave(whole.numel() // ranks).float()


OPERATIONS = {
    "all_reduce": (made_sum, all_reduce, lambda t, _me, ranks: differing(t[0], ranks * (ranks + 1) / 2)),
    "all_reduce_pieces": (
        made_pieces,
        all_reduce_pieces,
        lambda t, _me, ranks: sum(differing(each, ranks * (ranks + 1) / 2) for each in t),
    ),
    "all_gather": (made_gather, all_gather, lambda t, _me, ranks: differing(t[0], by_rank(t[0], ranks))),
    "reduce_scatter": (
        made_scatter,
        reduce_scatter,
        lambda t, _me, ranks: differing(t[0], ranks * (ranks + 1) / 2),
    ),
    "broadcast": (made_sum, broadcast, lambda t, _me, _ranks: differing(t[0], 1.0)),
    "all_to_all": (made_all_to_all, all_to_all, lambda t, _me, ranks: differing(t[0], by_rank(t[0], ranks))),
}  # type: Dict[str, Tuple[Any, Any, Any]]


def carried() -> Dict[str, int]:
    """Bytes that each interface and each InfiniBand port of this host has sent since it came up."""
    found = {}
    for name in os.listdir("/sys/class/net"):
        found[name] = number("/sys/class/net/%s/statistics/tx_bytes" % name)
    for name in os.listdir("/sys/class/infiniband") if os.path.isdir("/sys/class/infiniband") else []:
        ports = os.listdir("/sys/class/infiniband/%s/ports" % name)
        counters = [
            "/sys/class/infiniband/%s/ports/%s/counters/port_xmit_data" % (name, port) for port in ports
        ]
        found[name] = 4 * sum(map(number, counters))  # in words of four bytes
    return found


def number(path: str) -> int:
    """What the file says; 0 where it cannot be read."""
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def versions() -> Dict[str, str]:
    """Of torch and of the NCCL that it has in it."""
    library = torch.cuda.nccl  # type: Any
    nccl = ".".join(map(str, library.version())) if torch.cuda.is_available() else ""
    return {"torch": str(torch.__version__), "nccl": nccl}


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # all is said; Gloo's threads now and then abort a process that tears itself down
