"""The work of one GPU: matrix products, memory bandwidth, copies to the host and other GPUs; every result is verified.

`gpu_work.py OPTIONS`: a JSON object with `device` (cuda, or cpu), `index`, `count`. Prints the device, then answers
each line of JSON on stdin with one. Needs torch; Python 3.8 or later.
"""

import json
import sys
import time
from functools import partial
from typing import Any, Callable, Dict, List

import torch

MOST = 8  # limit of the integer factors: sums of 8192 products are exact in fp32 in any order
PIECE_S = 0.05  # work per synchronization, so that its cost is negligible
MAX_REPORTED = 3
ROWS = 8  # rows of the reference that the host verifies in fp64
B, C, SCALE = 2.0, 3.0, 3.0  # whole numbers, so that sums are exact
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32}

Json = Dict[str, Any]


def main() -> None:
    """Print the device of this process, then do what each JSON line of stdin requests, and print each result."""
    options = json.loads(sys.argv[1])
    device = Device(options["device"], options["index"], options["count"])
    reply(device.about())
    for line in sys.stdin:
        request = json.loads(line)
        reply(getattr(device, request["do"])(request))


def reply(answer: Json) -> None:
    """Print one answer as a line of JSON on stdout, at once."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


class Device:
    """One GPU, or the CPU: its measurements and how to synchronize with it."""

    def __init__(self, kind: str, index: int, count: int) -> None:
        """Select the device; exit if there is none of that kind and index."""
        self.cuda, self.index, self.count = kind == "cuda", index, count
        if self.cuda:
            device_count = torch.cuda.device_count()
            if index >= device_count:
                raise SystemExit("torch %s finds %d GPUs" % (torch.__version__, device_count))
            torch.cuda.set_device(index)
        self.device = self.numbered(index)
        self.first_factor = self.second = self.product = torch.empty(0)

    def numbered(self, index: int) -> Any:
        """Return torch's GPU of that index; the CPU if the device is the CPU."""
        return torch.device("cuda", index) if self.cuda else torch.device("cpu")

    def about(self) -> Json:
        """Return the device's name and torch's version as a JSON object."""
        name = torch.cuda.get_device_name(self.index) if self.cuda else "cpu"
        return {"name": name, "torch": str(torch.__version__)}

    def wait(self) -> None:
        """Wait until all work queued on the device is complete."""
        if self.cuda:
            torch.cuda.synchronize()

    def seconds(self, work: Callable[[], Any], limit_s: float) -> float:
        """Return the mean seconds per call over all calls that fit into the limit, after two that warm up.

        The mean, not the best, is what a training gets.
        """
        began = time.perf_counter()
        work()  # the first one loads kernels
        self.wait()
        second_start = time.perf_counter()
        work()
        self.wait()
        piece = max(1, int(PIECE_S / max(time.perf_counter() - second_start, 1e-6)))
        calls, began = 0, time.perf_counter()
        while calls == 0 or time.perf_counter() - began < limit_s:
            for _ in range(piece):
                work()
            self.wait()
            calls += piece
        return (time.perf_counter() - began) / calls

    def reference(self, request: Json) -> Json:
        """Make two integer factors and their fp32 product for `matrix`; verify some rows by the host's fp64 product."""
        self.first_factor, self.second = (self.random_integers(request["side"], seed) for seed in (1, 2))
        set_tf32(on=False)
        self.product = self.first_factor @ self.second
        return {"wrong": self.against_host()}

    def matrix(self, request: Json) -> Json:
        """Measure FLOP/s of the product in the requested precision; verify every element of the last product."""
        kind, side = TYPES[request["precision"]], len(self.first_factor)
        a, b = self.first_factor.to(kind), self.second.to(kind)
        output = torch.empty_like(a)
        set_tf32(on=request["precision"] == "tf32")
        call_s = self.seconds(lambda: torch.mm(a, b, out=output), request["seconds"])
        return {"flop_per_s": 2 * side**3 / call_s, "wrong": differing(output, self.product.to(kind))}

    def random_integers(self, side: int, seed: int) -> Any:
        """Return random integers, equal on every device; of both signs as real data, since power depends on it."""
        generator = torch.Generator().manual_seed(seed)
        return torch.randint(-MOST, MOST + 1, (side, side), generator=generator).float().to(self.device)

    def against_host(self) -> List[str]:
        """Return the wrong elements of some rows of the reference, compared with the host CPU's fp64 product."""
        step = max(1, len(self.first_factor) // ROWS)
        rows = self.first_factor[::step].cpu().double() @ self.second.cpu().double()
        return differing(self.product[::step].cpu().double(), rows, step)

    def memory(self, request: Json) -> Json:
        """Measure bytes/s of the device's memory by copy and triad, counted as STREAM does; count wrong elements."""
        count = request["bytes"] // 4
        a, b, c = (torch.full((count,), value, device=self.device) for value in (0.0, B, C))
        copy = self.seconds(lambda: a.copy_(b), request["seconds"])
        wrong = differing(a, b)
        triad = self.seconds(lambda: torch.add(b, c, alpha=SCALE, out=a), request["seconds"])
        wrong += differing(a, torch.full_like(a, B + SCALE * C))
        return {"copy": 2 * count * 4 / copy, "triad": 3 * count * 4 / triad, "wrong": wrong}

    def copies(self, request: Json) -> Json:
        """Measure bytes/s of copies from host memory (pinned with CUDA) to this device and back; count wrong values."""
        source = torch.arange(request["bytes"] // 4, dtype=torch.int32)
        back = torch.zeros_like(source)
        if self.cuda:
            source, back = source.pin_memory(), back.pin_memory()
        target = torch.zeros_like(source, device=self.device)
        upload_s = self.seconds(lambda: target.copy_(source, non_blocking=True), request["seconds"])
        home = self.seconds(lambda: back.copy_(target, non_blocking=True), request["seconds"])
        size, wrong = source.numel() * 4, differing(back, source)
        return {"there": size / upload_s, "back": size / home, "pinned": self.cuda, "wrong": wrong}

    def peers(self, request: Json) -> Json:
        """Measure bytes/s of copies from this device to each other GPU of the host, in `rates`.

        `direct` is whether the copies are peer to peer, `wrong` has the errors of the copied data.
        """
        source = torch.arange(request["bytes"] // 4, dtype=torch.int32, device=self.device)
        report = {"rates": {}, "direct": {}, "wrong": []}  # type: Json
        for peer in range(self.count):
            if peer == self.index:
                continue
            target = torch.zeros_like(source, device=self.numbered(peer))
            copy_s = self.seconds(partial(target.copy_, source, non_blocking=True), request["seconds"])
            report["rates"][str(peer)] = source.numel() * 4 / copy_s
            report["direct"][str(peer)] = self.direct(peer)
            report["wrong"] += [
                "to %d, " % peer + error for error in differing(target.to(self.device), source)
            ]
        return report

    def direct(self, peer: int) -> bool:
        """Return True if copies to the GPU `peer` do not pass through host memory."""
        return not self.cuda or bool(torch.cuda.can_device_access_peer(self.index, peer))


def set_tf32(*, on: bool) -> None:
    """Allow TF32 for fp32 products or not; always disable reduced-precision reductions of bf16 and fp16."""
    settings = torch.backends.cuda.matmul
    settings.allow_tf32 = on
    settings.allow_bf16_reduced_precision_reduction = False
    settings.allow_fp16_reduced_precision_reduction = False


def differing(actual: Any, expected: Any, step: int = 1) -> List[str]:
    """Return the number of wrong elements and the first of them as text, in a list; empty if none.

    `step` is the stride of the rows.
    """
    places = (actual != expected).nonzero()
    if not len(places):
        return []
    messages = [
        "%s is %g, expected %g"
        % (
            [int(position[0]) * step, *map(int, position[1:])],
            actual[tuple(position)].item(),
            expected[tuple(position)].item(),
        )
        for position in places[:MAX_REPORTED]
    ]
    return ["%d of %d elements: %s" % (len(places), actual.numel(), "; ".join(messages))]


if __name__ == "__main__":
    main()
