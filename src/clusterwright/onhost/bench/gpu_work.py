"""What one GPU does: matrix products, its memory, copies to the host and to other GPUs; every result is verified.

`gpu_work.py GIVEN`: a JSON object with `device` (cuda, or cpu), `index`, `count`. Says what it is, and then answers
each line of JSON on stdin with one. Needs torch; Python 3.8 or later.
"""

import json
import sys
import time
from functools import partial
from typing import Any, Callable, Dict, List

import torch

MOST = 8  # factors are whole numbers up to it: sums of 8192 products are exact in fp32, in whatever order
PIECE_S = 0.05  # work that is waited for at once, so that waiting costs nothing
MAX_REPORTED = 3
ROWS = 8  # of the reference itself, computed by the host in fp64
B, C, SCALE = 2.0, 3.0, 3.0  # whole numbers, so that sums are exact
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32}

Json = Dict[str, Any]


def main() -> None:
    """Say what this is, then answer."""
    options = json.loads(sys.argv[1])
    device = Device(options["device"], options["index"], options["count"])
    reply(device.about())
    for line in sys.stdin:
        request = json.loads(line)
        reply(getattr(device, request["do"])(request))


def reply(answer: Json) -> None:
    """One line."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


class Device:
    """One device, and how it is waited for."""

    def __init__(self, kind: str, index: int, count: int) -> None:
        """Without a device of that kind and index this is the end."""
        self.cuda, self.index, self.count = kind == "cuda", index, count
        if self.cuda:
            device_count = torch.cuda.device_count()
            if index >= device_count:
                raise SystemExit("torch %s sees %d GPUs" % (torch.__version__, device_count))
            torch.cuda.set_device(index)
        self.device = self.numbered(index)
        self.first_factor = self.second = self.product = torch.empty(0)

    def numbered(self, index: int) -> Any:
        """The device of that index; there is one CPU."""
        return torch.device("cuda", index) if self.cuda else torch.device("cpu")

    def about(self) -> Json:
        """Its name, and the torch that it is driven by."""
        name = torch.cuda.get_device_name(self.index) if self.cuda else "cpu"
        return {"name": name, "torch": str(torch.__version__)}

    def wait(self) -> None:
        """Until all that was begun is done."""
        if self.cuda:
            torch.cuda.synchronize()

    def seconds(self, work: Callable[[], Any], limit_s: float) -> float:
        """Of one call, on the mean of as many as fit into the limit: what a training gets, not a best moment."""
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
        """Two factors, and their product in fp32, of which some rows are held against the host's in fp64."""
        self.first_factor, self.second = (self.random_integers(request["side"], seed) for seed in (1, 2))
        set_tf32(on=False)
        self.product = self.first_factor @ self.second
        return {"wrong": self.against_host()}

    def matrix(self, request: Json) -> Json:
        """FLOP/s of that product in one precision; all elements of the last one are held against the reference."""
        kind, side = TYPES[request["precision"]], len(self.first_factor)
        a, b = self.first_factor.to(kind), self.second.to(kind)
        output = torch.empty_like(a)
        set_tf32(on=request["precision"] == "tf32")
        call_s = self.seconds(lambda: torch.mm(a, b, out=output), request["seconds"])
        return {"flop_per_s": 2 * side**3 / call_s, "wrong": differing(output, self.product.to(kind))}

    def random_integers(self, side: int, seed: int) -> Any:
        """Random ones, the same everywhere; of either sign, as real ones are, since power depends on them."""
        generator = torch.Generator().manual_seed(seed)
        return torch.randint(-MOST, MOST + 1, (side, side), generator=generator).float().to(self.device)

    def against_host(self) -> List[str]:
        """Some rows of the reference, computed by the host's processors."""
        step = max(1, len(self.first_factor) // ROWS)
        rows = self.first_factor[::step].cpu().double() @ self.second.cpu().double()
        return differing(self.product[::step].cpu().double(), rows, step)

    def memory(self, request: Json) -> Json:
        """Bytes/s of this device's memory by copy and triad, counted as STREAM does."""
        count = request["bytes"] // 4
        a, b, c = (torch.full((count,), value, device=self.device) for value in (0.0, B, C))
        copy = self.seconds(lambda: a.copy_(b), request["seconds"])
        wrong = differing(a, b)
        triad = self.seconds(lambda: torch.add(b, c, alpha=SCALE, out=a), request["seconds"])
        wrong += differing(a, torch.full_like(a, B + SCALE * C))
        return {"copy": 2 * count * 4 / copy, "triad": 3 * count * 4 / triad, "wrong": wrong}

    def copies(self, request: Json) -> Json:
        """Bytes/s from the host's memory, pinned, to this device, and back."""
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
        """Bytes/s from this device to each other one of the host, and whether it is written to directly."""
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
        """True where no copy goes by way of the host's memory."""
        return not self.cuda or bool(torch.cuda.can_device_access_peer(self.index, peer))


def set_tf32(*, on: bool) -> None:
    """Products of fp32 are rounded to TF32, or not at all; sums of others are not rounded on the way."""
    settings = torch.backends.cuda.matmul
    settings.allow_tf32 = on
    settings.allow_bf16_reduced_precision_reduction = False
    settings.allow_fp16_reduced_precision_reduction = False


def differing(actual: Any, expected: Any, step: int = 1) -> List[str]:
    """How many elements are not as wanted, and the first of them; nothing where all are. Rows are every `step`-th."""
    places = (actual != expected).nonzero()
    if not len(places):
        return []
    messages = [
        "%s is %g and not %g"
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
