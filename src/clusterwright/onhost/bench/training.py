"""One rank of a training with DistributedDataParallel: step times with and without the gradient exchange.

Input: the model's shape, `sequences` and `tokens` of a rank's step, and `seconds` for steps of each kind.
Every rank prints one JSON line. Needs torch; Python 3.8 or later.
"""

import json
import os
import sys
import time
from contextlib import nullcontext
from typing import Any, Callable, Dict, List

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WARM_UP = 2
VOCABULARY = 256
RATE = 0.01
ALL_REDUCES = 5
FEWEST_STEPS, MOST_STEPS = 10, 100

Json = Dict[str, Any]


def main() -> None:
    """Time the training steps of one rank of a benchmark, and print the times as JSON.

    The output also has loss and gradients, by which ranks are compared, and the bytes sent.
    """
    options = json.loads(sys.argv[1])
    device = device_of(options["backend"])
    dist.init_process_group(options["backend"])
    start_bytes = sent_bytes(options["interface"])
    try:
        training = Training(options, device)
        results = {
            **training.times(options["seconds"]),
            **training.proof(),
            "all_reduce": training.all_reduces(),
            "gradient_bytes": training.gradients().numel() * 4,
        }
    finally:
        dist.destroy_process_group()
    rank_info = {"rank": int(os.environ["RANK"]), "sent": sent_bytes(options["interface"]) - start_bytes}
    sys.stdout.write(json.dumps({"training": {**rank_info, **results}}) + "\n")


class Training:
    """A small transformer that predicts the next byte, with this rank's data."""

    def __init__(self, options: Json, device: Any) -> None:
        """Create the model with the same weights on every rank, and different data on each."""
        torch.manual_seed(0)
        self.device = device
        self.model = DistributedDataParallel(Transformer(options["width"], options["layers"]).to(device))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=RATE)
        shape = (options["sequences"], options["tokens"] + 1)
        self.common = torch.randint(VOCABULARY, shape, device=device)
        torch.manual_seed(1 + dist.get_rank())
        self.local_data = torch.randint(VOCABULARY, shape, device=device)

    def step(self, *, sync: bool) -> None:
        """Run one step; without `sync` the learning rate is 0, for the same work with unchanged weights."""
        for group in self.optimizer.param_groups:
            group["lr"] = RATE if sync else 0.0
        self.optimizer.zero_grad()
        with nullcontext() if sync else self.model.no_sync():
            self.loss(self.local_data).backward()
        self.optimizer.step()

    def loss(self, text: Any) -> Any:
        """Return the model's cross entropy for the next byte of the text; in bf16 on a GPU."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            logits = self.model(text[:, :-1])
        return nn.functional.cross_entropy(logits.float().flatten(0, 1), text[:, 1:].flatten())

    def times(self, seconds: float) -> Json:
        """Return the seconds of steps with (`together`) and without (`alone`) the gradient exchange.

        They alternate, so that a disturbance affects both.
        """
        sync_times, no_sync_times = [], []  # type: List[float], List[float]
        for _ in range(self.steps(seconds)):
            sync_times.append(self.timed(lambda: self.step(sync=True)))
            no_sync_times.append(self.timed(lambda: self.step(sync=False)))
        return {"together": sync_times, "alone": no_sync_times}

    def steps(self, seconds: float) -> int:
        """Return the number of steps that fit into the time, equal on all ranks, from the last warm-up step."""
        for _ in range(WARM_UP):
            self.step(sync=False)
            step_s = self.timed(lambda: self.step(sync=True))
        slowest = torch.tensor(step_s, device=self.device)
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        return max(FEWEST_STEPS, min(MOST_STEPS, int(seconds / float(slowest))))

    def timed(self, work: Callable[[], Any]) -> float:
        """Return the seconds that the work takes on this rank; all ranks start it at once."""
        dist.barrier()
        began = time.perf_counter()
        work()
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return round(time.perf_counter() - began, 6)

    def all_reduces(self) -> List[float]:
        """Return the seconds of all-reduces of tensors of the gradients' size, with no other work."""
        buffer = torch.ones_like(self.gradients())
        return [self.timed(lambda: dist.all_reduce(buffer)) for _ in range(ALL_REDUCES)]

    def proof(self) -> Json:
        """Return the loss on shared text, and norm and relative error of DDP's gradients against the ranks' mean."""
        with torch.no_grad():
            loss = float(self.loss(self.common))
        average = self.gradients_of(sync=False)
        dist.all_reduce(average)
        average /= dist.get_world_size()
        ddp_gradients = self.gradients_of(sync=True)
        off = (ddp_gradients - average).abs().max() / average.abs().max()
        return {"loss": loss, "norm": float(ddp_gradients.double().norm()), "off": float(off)}

    def gradients_of(self, *, sync: bool) -> Any:
        """Compute and return the gradients of this rank's data as one vector; with `sync`, averaged over all ranks."""
        self.optimizer.zero_grad()
        with nullcontext() if sync else self.model.no_sync():
            self.loss(self.local_data).backward()
        return self.gradients()

    def gradients(self) -> Any:
        """Return all gradients of the model as one vector."""
        return torch.cat(
            [weight.grad.flatten() for weight in self.model.parameters() if weight.grad is not None]
        )


class Transformer(nn.Module):
    """A minimal causal transformer."""

    def __init__(self, width: int, layers: int) -> None:
        """Create `layers` layers of that width, with heads of size 64."""
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        layer = [
            nn.TransformerEncoderLayer(
                width, max(1, width // 64), 4 * width, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(layers)
        ]
        self.layers = nn.ModuleList(layer)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, text: Any) -> Any:
        """Return the logits of the next byte at each position."""
        size = text.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(size, device=text.device)
        hidden = self.embedding(text)
        for layer in self.layers:
            hidden = layer(hidden, src_mask=mask, is_causal=True)
        return self.head(hidden)


def device_of(backend: str) -> Any:
    """Return the GPU of this rank for NCCL, else the CPU."""
    if backend != "nccl":
        return torch.device("cpu")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def sent_bytes(interface: str) -> int:
    """Return the bytes that the interface has sent since it came up; 0 if unknown."""
    try:
        with open("/sys/class/net/%s/statistics/tx_bytes" % interface) as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # the output is complete; Gloo's threads sometimes abort a process during its shutdown
