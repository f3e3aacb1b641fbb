"""Clips gradients of every kind at once: plain ones, and DTensors on several meshes. Needs four ranks."""

import json
import sys

import torch
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

from clusterwright import runtime

run = runtime.start(parallel={"tensor": 2, "shard": "full"})
torch.manual_seed(0)
both, shard, tensor = run.mesh["dp_shard", "tp"], run.mesh["dp_shard"], run.mesh["tp"]
wholes = [torch.randn(7, 5) for _ in range(6)]
kinds = [
    lambda whole: whole.clone(),
    lambda whole: distribute_tensor(whole, both, [Shard(0), Shard(1)]),
    lambda whole: distribute_tensor(whole, both, [Replicate(), Shard(0)]),
    lambda whole: distribute_tensor(whole, shard, [Shard(0)]),
    lambda whole: distribute_tensor(whole, tensor, [Replicate()]),
    lambda whole: distribute_tensor(whole, shard, [Shard(1)]),
]
model = torch.nn.Module()
for number, (make, whole) in enumerate(zip(kinds, wholes, strict=True)):
    parameter = torch.nn.Parameter(make(torch.zeros(7, 5)))
    parameter.grad = make(whole)
    model.register_parameter(f"p{number}", parameter)
plain = [torch.nn.Parameter(torch.zeros(7, 5)) for _ in wholes]
for parameter, whole in zip(plain, wholes, strict=True):
    parameter.grad = whole.clone()

norm = run.clip(model, 2.0)
expected = torch.nn.utils.clip_grad_norm_(plain, 2.0)
found = [
    each.grad.full_tensor() if hasattr(each.grad, "full_tensor") else each.grad for each in model.parameters()
]
close = [torch.allclose(mine, other.grad, rtol=1e-5) for mine, other in zip(found, plain, strict=True)]
said = {"norm": float(norm), "expected": float(expected), "close": close}
sys.stdout.write(json.dumps(said) + "\n")  # one write: four ranks share the log
run.finish()
