"""MPI programs: PMIx tells them all they want, so each process is a task of Slurm's."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter

ADAPTER = Adapter(module="", install="", launcher="srun")
