"""The position of a training in its batches: found, saved and restored."""

from __future__ import annotations

from typing import Any

from torch.utils.data import DataLoader

from clusterwright.runtime.data import Sampler


def sampler(batches: Any) -> Sampler | None:
    """Return the Sampler of these batches, or of the DataLoader that they are; None if there is none.

    All ranks share its position.
    """
    candidate = getattr(batches, "batch_sampler", batches)
    return candidate if isinstance(candidate, Sampler) else None


def stream(batches: Any) -> Any:
    """Return the object that stores this rank's position in the data: the batches, or a DataLoader's dataset.

    The latter only without workers.

    Raises:
        TypeError: neither has a `state_dict`; a resumed run would train on samples twice.
    """
    if _stateful(batches):
        return batches
    workers = batches.num_workers if isinstance(batches, DataLoader) else 0
    if isinstance(batches, DataLoader) and _stateful(batches.dataset) and not workers:
        return batches.dataset
    detail = f" with {workers} prefetching worker{'s' if workers > 1 else ''}" if workers else ""
    raise TypeError(
        f"steps({type(batches).__name__}{detail}): the position in the data is unknown, so a resumed run would repeat"
        " samples; fix: pass a Sampler as batch_sampler, or batches with state_dict and load_state_dict"
        " (torchdata's StatefulDataLoader), or none and derive them from the step number"
    )


def restore_position(position: Any, step: int, local: dict[str, Any] | None) -> None:
    """Load this rank's position in the data, as saved at a step, into `position`.

    Raises:
        RuntimeError: no position was saved, or the number of ranks has changed.
    """
    if local is None:
        raise RuntimeError(
            f"the number of ranks has changed since step {step}, and these batches store one position per rank;"
            " fix: resume with the same number of ranks, or use a Sampler, which redistributes the data"
        )
    if "data" not in local:
        raise RuntimeError(f"step {step} was saved without the position of the batches that steps() has now")
    position.load_state_dict(local["data"])


def _stateful(item: Any) -> bool:
    return hasattr(item, "state_dict") and hasattr(item, "load_state_dict")
