"""DeepSpeed on CPUs: fits a line on all ranks with ZeRO stage 0; DeepSpeed sets up the process group."""

import argparse

import deepspeed
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)  # passed by its launcher
arguments, _ = parser.parse_known_args()
torch.manual_seed(0)
deepspeed.init_distributed(dist_backend="gloo")
model = torch.nn.Linear(1, 1)
engine, _, _, _ = deepspeed.initialize(
    model=model, model_parameters=model.parameters(), optimizer=torch.optim.SGD(model.parameters(), 0.1),
    config={"train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": 0}},
)  # fmt: skip
x = torch.linspace(-1, 1, 8)[:, None] * (torch.distributed.get_rank() + 1)
for _ in range(20):
    engine.backward(((engine(x) - 2 * x) ** 2).mean())
    engine.step()
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
print(f"rank {rank} of {world} weight {engine.module.weight.item():.6f} {arguments.local_rank}", flush=True)
