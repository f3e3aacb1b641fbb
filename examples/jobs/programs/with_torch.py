"""A script for torchrun: sums the rank numbers by torch.distributed, with torchrun's rendezvous."""

import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
mine = torch.tensor([float(dist.get_rank())])
dist.all_reduce(mine)
print(
    f"rank {dist.get_rank()} of {dist.get_world_size()} sum {mine.item():g} {os.environ['LOCAL_RANK']} {sys.argv[1:]}"
)
dist.destroy_process_group()
