"""A script that sets up torch.distributed from Slurm's variables alone."""

import os
import subprocess

import torch
import torch.distributed as dist

rank, world = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
hosts = subprocess.check_output(
    ["scontrol", "show", "hostnames", os.environ["SLURM_NODELIST"]], text=True
).split()
port = 12000 + int(os.environ["SLURM_JOB_ID"]) % 1000
dist.init_process_group("gloo", init_method=f"tcp://{hosts[0]}:{port}", rank=rank, world_size=world)
mine = torch.tensor([float(rank)])
dist.all_reduce(mine)
print(f"rank {rank} of {world} sum {mine.item():g} {os.environ['SLURM_LOCALID']}")
dist.destroy_process_group()
