"""Where a training's batches come from, and how their position is kept."""

from __future__ import annotations

from typing import Any

from torch.utils.data import DataLoader

from clusterwright.runtime.data import Sampler


def sampler(batches: Any) -> Sampler | None:
    """The Sampler that deals the batches out; its position is the same for all ranks."""
    candidate = getattr(batches, "batch_sampler", batches)
    return candidate if isinstance(candidate, Sampler) else None


def stream(batches: Any) -> Any:
    """What else knows its own position on this rank: the batches themselves, or the dataset of a DataLoader.

    Raises:
        TypeError: nothing does; a resumed run would train on samples twice.
    """
    if _stateful(batches):
        return batches
    workers = batches.num_workers if isinstance(batches, DataLoader) else 0
    if isinstance(batches, DataLoader) and _stateful(batches.dataset) and not workers:
        return batches.dataset
    detail = f" with {workers} workers, which read ahead" if workers else ""
    raise TypeError(
        f"steps({type(batches).__name__}{detail}): nothing says where in the data it is, so a resumed run would repeat"
        " samples; give a Sampler as batch_sampler, or batches with state_dict and load_state_dict"
        " (torchdata's StatefulDataLoader), or none and make them from the number of the step"
    )


def restore_position(position: Any, step: int, local: dict[str, Any] | None) -> None:
    """Go to this rank's position as it was saved at a step.

    Raises:
        RuntimeError: it was not saved, or was that of other ranks.
    """
    if local is None:
        raise RuntimeError(
            f"the number of ranks has changed since step {step}, and these batches know only where each rank was:"
            " go on with as many ranks, or use a Sampler, which deals the data out anew"
        )
    if "data" not in local:
        raise RuntimeError(f"step {step} was saved without the position of the batches that steps() has now")
    position.load_state_dict(local["data"])


def _stateful(item: Any) -> bool:
    return hasattr(item, "state_dict") and hasattr(item, "load_state_dict")
