"""Saves or loads a model and its optimizer, laid out over the ranks as SHARD_LAYOUT says.

`save` trains two steps, saves, and leaves the whole tensors in reference.pt; `load` loads into a model of another
seed, and says whether every tensor, put together again, is the same bit for bit.
"""

import os
from pathlib import Path

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from clusterwright.runtime import group
from clusterwright.runtime.checkpoints.checkpoint import Checkpoints
from clusterwright.runtime.checkpoints.target_state import TargetState

TENSOR_PARALLEL = {"0": ColwiseParallel(), "2": RowwiseParallel()}


def laid_out(layout, world_size):
    """13 rows over 2 or 4 ranks: no shard is like the last; 3 outputs over 4 ranks: one has nothing."""
    model = nn.Sequential(nn.Linear(8, int(os.environ.get("SHARD_WIDTH", "13"))), nn.ReLU())
    model.append(nn.Linear(model[0].out_features, 3))
    if layout == "fsdp":
        fully_shard(model, mesh=init_device_mesh("cpu", (world_size,)))
    elif layout == "hsdp":
        fully_shard(
            model, mesh=init_device_mesh("cpu", (2, world_size // 2), mesh_dim_names=("replicate", "shard"))
        )
    elif layout == "tp":
        parallelize_module(model, init_device_mesh("cpu", (world_size,)), TENSOR_PARALLEL)
    elif layout == "both":
        mesh = init_device_mesh("cpu", (2, world_size // 2), mesh_dim_names=("dp", "tp"))
        parallelize_module(model, mesh["tp"], TENSOR_PARALLEL)
        fully_shard(model, mesh=mesh["dp"])
    elif layout == "copies":  # tensor parallel in each half of the ranks, which do not know of each other
        mesh = init_device_mesh("cpu", (2, world_size // 2), mesh_dim_names=("dp", "tp"))
        parallelize_module(model, mesh["tp"], TENSOR_PARALLEL)
    return model


def whole(state):
    """Every tensor of it, by its path, as one rank would have it."""
    if isinstance(state, torch.Tensor):
        return {"": (state.full_tensor() if isinstance(state, DTensor) else state).detach().clone()}
    pairs = state.items() if isinstance(state, dict) else enumerate(state) if isinstance(state, list) else ()
    return {f"{key}/{path}": value for key, item in pairs for path, value in whole(item).items()}


def main():
    """One of both."""
    joined = group.join()
    folder = Path(os.environ["CLUSTERWRIGHT_RUN"])
    loading = os.environ["SHARD_ACT"] == "load"
    torch.manual_seed(1 if loading else 0)
    model = laid_out(os.environ["SHARD_LAYOUT"], joined.world_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, foreach=False)
    checkpoints = Checkpoints(folder / "checkpoints", joined, save_total_limit=2)

    def state():
        return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}

    if loading:
        found, skipped = checkpoints.newest(TargetState({"model": model, "optimizer": optimizer}, state()))
        assert not skipped, skipped
        model.load_state_dict(found.shared["model"])
        optimizer.load_state_dict(found.shared["optimizer"])
        local = {name: p.to_local().shape for name, p in model.named_parameters() if isinstance(p, DTensor)}
        for index, (name, _) in enumerate(model.named_parameters()):
            if name in local:
                assert (
                    optimizer.state[list(model.parameters())[index]]["exp_avg"].to_local().shape
                    == local[name]
                )
        there, reference = whole(state()), torch.load(folder / "reference.pt")
        assert there.keys() == reference.keys()
        wrong = [name for name in there if not torch.equal(there[name], reference[name])]
        assert not wrong, wrong
    else:
        for _ in range(2):
            model(torch.randn(4, 8, generator=torch.Generator().manual_seed(3))).square().mean().backward()
            optimizer.step()
        checkpoints.save(1, state(), {"rank": joined.rank})
        assert checkpoints.wait().reason is None
        reference = whole(state())
        if joined.rank == 0:
            torch.save(reference, folder / "reference.pt")
    joined.destroy()


main()
