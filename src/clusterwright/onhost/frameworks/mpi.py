"""MPI programs: PMIx provides all they need, so each process is a Slurm task."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter

ADAPTER = Adapter(module="", install="", launcher="srun")
