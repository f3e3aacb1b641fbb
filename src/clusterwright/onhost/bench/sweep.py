"""One rank of a sweep of collectives, as nccl-tests does it: times, bandwidths, and verified data.

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
PIECES = 8  # concurrent pieces: more than Gloo's threads per connection (2), so that no thread is idle

Json = Dict[str, Any]
Tensors = Tuple[Any, ...]


def main() -> None:
    """Run one rank of a sweep over sizes of collectives; rank 0 prints a JSON line for each, then bytes carried."""
    options = json.loads(sys.argv[1])
    device = device_of(options["backend"])
    dist.init_process_group(options["backend"])
    start_bytes = carried()
    try:
        for row in sweep(options, device):
            if dist.get_rank() == 0:
                sys.stdout.write(json.dumps(row) + "\n")
        end_bytes = carried()
        moved = {
            name: count - start_bytes.get(name, 0)
            for name, count in end_bytes.items()
            if count > start_bytes.get(name, 0)
        }
        if dist.get_rank() == 0:
            sys.stdout.write(json.dumps({"carried": moved, "versions": versions()}) + "\n")
    finally:
        sys.stdout.flush()
        dist.destroy_process_group()


def device_of(backend: str) -> Any:
    """Return the GPU of this rank for NCCL, else the CPU."""
    if backend != "nccl":
        return torch.device("cpu")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def sweep(options: Json, device: Any) -> Iterator[Json]:
    """Yield one measurement per operation and size; an operation that the backend lacks is `skipped` in it."""
    for kind in options["kinds"]:
        for size in options["sizes"]:
            try:
                yield measure(kind, size, options["iterations"], device)
            except (RuntimeError, NotImplementedError, ValueError) as error:
                yield {"kind": kind, "size": size, "skipped": str(error).splitlines()[0][:200]}
                break
        dist.barrier()


def measure(kind: str, size: int, iterations: int, device: Any) -> Json:
    """Measure one collective at one size in bytes: the median time in us of the slowest rank, and bandwidths in GB/s.

    Wrong data raises no error: `wrong` is the number of wrong elements on all ranks.
    """
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
    """Return the seconds of each call of a collective on this rank; all ranks start together."""
    times = []
    dist.barrier()
    for _ in range(iterations):
        began = time.perf_counter()
        run(*tensors)
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return times


def bus_factor(kind: str, ranks: int) -> float:
    """Return the factor from algorithm bandwidth to bus bandwidth of a collective, as nccl-tests defines it.

    See nccl-tests, doc/PERFORMANCE.md.
    """
    peer_share = (ranks - 1) / ranks
    return {"all_reduce": 2 * peer_share, "all_reduce_pieces": 2 * peer_share, "broadcast": 1.0}.get(
        kind, peer_share
    )


# Each operation: tensors for a count of elements, the call, and the number of wrong elements in its result.
# All elements of rank r are r + 1, so sums are known, and exact in a float.


def make_sum(count: int, _ranks: int, device: Any) -> Tensors:
    """Return the tensor to sum: all its `count` elements are rank + 1."""
    return (torch.full((count,), float(dist.get_rank() + 1), device=device),)


def make_pieces(count: int, ranks: int, device: Any) -> Tensors:
    """Return the tensor of `make_sum` in PIECES pieces, as gradients are sent in buckets."""
    (tensor,) = make_sum(count, ranks, device)
    return tuple(tensor.chunk(PIECES))


def make_gather(count: int, ranks: int, device: Any) -> Tensors:
    """Return the buffers of an all-gather: the output of `count` elements, and this rank's 1/ranks part."""
    (part,) = make_sum(count // ranks, ranks, device)
    return part.new_zeros(count), part


def make_scatter(count: int, ranks: int, device: Any) -> Tensors:
    """Return the buffers of a reduce-scatter: the output, 1/ranks of `count` elements, and this rank's input."""
    (tensor,) = make_sum(count, ranks, device)
    return tensor.new_zeros(count // ranks), tensor


def make_all_to_all(count: int, ranks: int, device: Any) -> Tensors:
    """Return the receive and the send buffer of an all-to-all, each of `count` elements."""
    (send_buffer,) = make_sum(count, ranks, device)
    return send_buffer.new_zeros(count), send_buffer


def all_reduce(tensor: Any) -> None:
    """Sum the tensor over all ranks, in place."""
    dist.all_reduce(tensor)


def all_reduce_pieces(*pieces: Any) -> None:
    """Sum all pieces over all ranks concurrently, in place."""
    for work in [dist.all_reduce(piece, async_op=True) for piece in pieces]:
        work.wait()


def broadcast(tensor: Any) -> None:
    """Overwrite the tensor on all ranks by that of rank 0."""
    dist.broadcast(tensor, 0)


def all_gather(tensor: Any, part: Any) -> None:
    """Gather the parts of all ranks in `tensor`, on every rank."""
    dist.all_gather_into_tensor(tensor, part)


def reduce_scatter(part: Any, tensor: Any) -> None:
    """Sum `tensor` over all ranks and store this rank's part of the sum in `part`."""
    dist.reduce_scatter_tensor(part, tensor)


def all_to_all(receive_buffer: Any, send_buffer: Any) -> None:
    """Send each rank its part of `send_buffer`, and receive the parts for this rank in `receive_buffer`."""
    dist.all_to_all_single(receive_buffer, send_buffer)


def differing(actual: Any, expected: Any) -> int:
    """Return the number of elements that differ from the expected ones."""
    return int((actual != expected).sum().item())


def by_rank(tensor: Any, ranks: int) -> Any:
    """Return the expected result in which the part of rank r has the value r + 1."""
    return torch.arange(1, ranks + 1, device=tensor.device).repeat_interleave(tensor.numel() // ranks).float()


OPERATIONS = {
    "all_reduce": (make_sum, all_reduce, lambda t, _me, ranks: differing(t[0], ranks * (ranks + 1) / 2)),
    "all_reduce_pieces": (
        make_pieces,
        all_reduce_pieces,
        lambda t, _me, ranks: sum(differing(piece, ranks * (ranks + 1) / 2) for piece in t),
    ),
    "all_gather": (make_gather, all_gather, lambda t, _me, ranks: differing(t[0], by_rank(t[0], ranks))),
    "reduce_scatter": (
        make_scatter,
        reduce_scatter,
        lambda t, _me, ranks: differing(t[0], ranks * (ranks + 1) / 2),
    ),
    "broadcast": (make_sum, broadcast, lambda t, _me, _ranks: differing(t[0], 1.0)),
    "all_to_all": (make_all_to_all, all_to_all, lambda t, _me, ranks: differing(t[0], by_rank(t[0], ranks))),
}  # type: Dict[str, Tuple[Any, Any, Any]]


def carried() -> Dict[str, int]:
    """Return the bytes that each interface and InfiniBand device of this host has sent so far."""
    sent_bytes = {}
    for name in os.listdir("/sys/class/net"):
        sent_bytes[name] = number("/sys/class/net/%s/statistics/tx_bytes" % name)
    for name in os.listdir("/sys/class/infiniband") if os.path.isdir("/sys/class/infiniband") else []:
        ports = os.listdir("/sys/class/infiniband/%s/ports" % name)
        counters = [
            "/sys/class/infiniband/%s/ports/%s/counters/port_xmit_data" % (name, port) for port in ports
        ]
        sent_bytes[name] = 4 * sum(map(number, counters))  # in words of four bytes
    return sent_bytes


def number(path: str) -> int:
    """Return the integer in a file; 0 if it cannot be read."""
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def versions() -> Dict[str, str]:
    """Return the versions of torch and of its NCCL."""
    library = torch.cuda.nccl  # type: Any
    nccl = ".".join(map(str, library.version())) if torch.cuda.is_available() else ""
    return {"torch": str(torch.__version__), "nccl": nccl}


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # the output is complete; Gloo's threads sometimes abort a process during its shutdown
