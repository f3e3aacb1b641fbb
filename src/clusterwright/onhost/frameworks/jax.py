"""JAX: `jax.distributed.initialize()` reads Slurm's variables, so each process is a Slurm task."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter

ADAPTER = Adapter(module="jax", install="pip install jax", launcher="srun")
