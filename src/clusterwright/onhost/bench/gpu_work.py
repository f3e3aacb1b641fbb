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
WRONG_TOLD = 3
ROWS = 8  # of the reference itself, computed by the host in fp64
B, C, SCALE = 2.0, 3.0, 3.0  # whole numbers, so that sums are exact
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32}

Json = Dict[str, Any]


def main() -> None:
    """Say what this is, then answer."""
    given = json.loads(sys.argv[1])
    one = One(given["device"], given["index"], given["count"])
    say(one.about())
    for line in sys.stdin:
        asked = json.loads(line)
        say(getattr(one, asked["do"])(asked))


def say(found: Json) -> None:
    """One line."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


class One:
    """One device, and how it is waited for."""

    def __init__(self, kind: str, index: int, count: int) -> None:
        """Without a device of that kind and index this is the end."""
        self.cuda, self.index, self.count = kind == "cuda", index, count
        if self.cuda:
            seen = torch.cuda.device_count()
            if index >= seen:
                raise SystemExit("torch %s sees %d GPUs" % (torch.__version__, seen))
            torch.cuda.set_device(index)
        self.device = self.numbered(index)
        self.first = self.second = self.product = torch.empty(0)

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
        once = time.perf_counter()
        work()
        self.wait()
        piece = max(1, int(PIECE_S / max(time.perf_counter() - once, 1e-6)))
        calls, began = 0, time.perf_counter()
        while calls == 0 or time.perf_counter() - began < limit_s:
            for _ in range(piece):
                work()
            self.wait()
            calls += piece
        return (time.perf_counter() - began) / calls

    def reference(self, asked: Json) -> Json:
        """Two factors, and their product in fp32, of which some rows are held against the host's in fp64."""
        self.first, self.second = (self.whole_numbers(asked["side"], seed) for seed in (1, 2))
        set_tf32(on=False)
        self.product = self.first @ self.second
        return {"wrong": self.against_host()}

    def matrix(self, asked: Json) -> Json:
        """FLOP/s of that product in one precision; all elements of the last one are held against the reference."""
        kind, side = TYPES[asked["precision"]], len(self.first)
        one, other = self.first.to(kind), self.second.to(kind)
        found = torch.empty_like(one)
        set_tf32(on=asked["precision"] == "tf32")
        each = self.seconds(lambda: torch.mm(one, other, out=found), asked["seconds"])
        return {"flop_per_s": 2 * side**3 / each, "wrong": differing(found, self.product.to(kind))}

    def whole_numbers(self, side: int, seed: int) -> Any:
        """Random ones, the same everywhere; of either sign, as real ones are, since power depends on them."""
        made = torch.Generator().manual_seed(seed)
        return torch.randint(-MOST, MOST + 1, (side, side), generator=made).float().to(self.device)

    def against_host(self) -> List[str]:
        """Some rows of the reference, computed by the host's processors."""
        step = max(1, len(self.first) // ROWS)
        rows = self.first[::step].cpu().double() @ self.second.cpu().double()
        return differing(self.product[::step].cpu().double(), rows, step)

    def memory(self, asked: Json) -> Json:
        """Bytes/s of this device's memory by copy and triad, counted as STREAM does."""
        count = asked["bytes"] // 4
        a, b, c = (torch.full((count,), value, device=self.device) for value in (0.0, B, C))
        copy = self.seconds(lambda: a.copy_(b), asked["seconds"])
        wrong = differing(a, b)
        triad = self.seconds(lambda: torch.add(b, c, alpha=SCALE, out=a), asked["seconds"])
        wrong += differing(a, torch.full_like(a, B + SCALE * C))
        return {"copy": 2 * count * 4 / copy, "triad": 3 * count * 4 / triad, "wrong": wrong}

    def copies(self, asked: Json) -> Json:
        """Bytes/s from the host's memory, pinned, to this device, and back."""
        sent = torch.arange(asked["bytes"] // 4, dtype=torch.int32)
        back = torch.zeros_like(sent)
        if self.cuda:
            sent, back = sent.pin_memory(), back.pin_memory()
        here = torch.zeros_like(sent, device=self.device)
        there = self.seconds(lambda: here.copy_(sent, non_blocking=True), asked["seconds"])
        home = self.seconds(lambda: back.copy_(here, non_blocking=True), asked["seconds"])
        size, wrong = sent.numel() * 4, differing(back, sent)
        return {"there": size / there, "back": size / home, "pinned": self.cuda, "wrong": wrong}

    def peers(self, asked: Json) -> Json:
        """Bytes/s from this device to each other one of the host, and whether it is written to directly."""
        sent = torch.arange(asked["bytes"] // 4, dtype=torch.int32, device=self.device)
        found = {"rates": {}, "direct": {}, "wrong": []}  # type: Json
        for other in range(self.count):
            if other == self.index:
                continue
            there = torch.zeros_like(sent, device=self.numbered(other))
            each = self.seconds(partial(there.copy_, sent, non_blocking=True), asked["seconds"])
            found["rates"][str(other)] = sent.numel() * 4 / each
            found["direct"][str(other)] = self.direct(other)
            found["wrong"] += ["to %d, " % other + each for each in differing(there.to(self.device), sent)]
        return found

    def direct(self, other: int) -> bool:
        """True where no copy goes by way of the host's memory."""
        return not self.cuda or bool(torch.cuda.can_device_access_peer(self.index, other))


def set_tf32(*, on: bool) -> None:
    """Products of fp32 are rounded to TF32, or not at all; sums of others are not rounded on the way."""
    settings = torch.backends.cuda.matmul
    settings.allow_tf32 = on
    settings.allow_bf16_reduced_precision_reduction = False
    settings.allow_fp16_reduced_precision_reduction = False


def differing(found: Any, wanted: Any, step: int = 1) -> List[str]:
    """How many elements are not as wanted, and the first of them; nothing where all are. Rows are every `step`-th."""
    places = (found != wanted).nonzero()
    if not len(places):
        return []
    told = [
        "%s is %g and not %g"
        % (
            [int(place[0]) * step, *map(int, place[1:])],
            found[tuple(place)].item(),
            wanted[tuple(place)].item(),
        )
        for place in places[:WRONG_TOLD]
    ]
    return ["%d of %d elements: %s" % (len(places), found.numel(), "; ".join(told))]


if __name__ == "__main__":
    main()
