"""FairScale: OSS shards the optimizer's state over the ranks, ShardedDDP sends each gradient to its owner.

Prefer FSDP2 for new programs (docs/guides/frameworks/fairscale.md): FairScale's last release is of 2022.
"""

import torch
from fairscale.nn.data_parallel import ShardedDataParallel
from fairscale.optim.oss import OSS
from torch import nn

from clusterwright import runtime

run = runtime.start(seed=1)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1)).to(run.device)
optimizer = OSS(model.parameters(), optim=torch.optim.AdamW, lr=1e-2)
sharded = ShardedDataParallel(model, optimizer)
run.track(model=model, optimizer=optimizer)  # the model itself, not the wrapper

inputs = torch.randn(256, 8, generator=torch.Generator().manual_seed(0))
for numbers in run.steps(runtime.Sampler(256, batch=32, seed=2), total_steps=20):
    x = inputs[numbers].to(run.device)
    loss = nn.functional.mse_loss(sharded(x).squeeze(1), x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.clip_grad_norm(1.0)  # not run.clip: each rank has the gradients of its own share only
    optimizer.step()
    run.step(loss)

run.finish()
print(f"rank {run.rank} of {run.world_size} weight {model[2].weight.norm().item():.6f}")
