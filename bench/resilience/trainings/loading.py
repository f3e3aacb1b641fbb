"""A training for torchrun with two data workers per rank."""

from __future__ import annotations

import marks
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Numbered(Dataset):
    """A dataset of samples derived from their indexes."""

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, number: int) -> torch.Tensor:
        return torch.randn(32, generator=torch.Generator().manual_seed(number))


def main() -> None:
    """Train until killed."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    marks.mark("group", rank=rank)
    parallel = nn.parallel.DistributedDataParallel(nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(parallel.parameters(), lr=1e-3)
    for step, x in enumerate(DataLoader(Numbered(), batch_size=16, num_workers=2), 1):
        marks.pause(rank)
        optimizer.zero_grad()
        parallel(x).sum().backward()
        optimizer.step()
        marks.mark("step", rank=rank, step=step)


if __name__ == "__main__":
    main()
