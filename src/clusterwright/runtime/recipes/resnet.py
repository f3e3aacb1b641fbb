"""Train a ResNet on images: `python -m clusterwright.runtime.recipes.resnet --steps 150`.

`--data` is `digits`, the folder of CIFAR-10's binary version, or a folder with `train` and `val`, which have a folder
of images per class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader

from clusterwright.runtime import Feeder, Reproducible, Run, Sampler, start
from clusterwright.runtime.recipes import image_data
from clusterwright.runtime.recipes.loop import train
from clusterwright.runtime.recipes.models.resnet import ResNet
from clusterwright.runtime.recipes.options import Common, parse


@dataclass(frozen=True)
class Options(Common):
    """Command-line options of the recipe."""

    batch: int = 64
    microbatch: int = 64
    weight_decay: float = 1e-4
    clip: float = 5.0
    evaluate_samples: int = 10_000
    data: str = "digits"
    depth: int = 18  # or 34, 50, 101
    width: int = 64  # channels of the first stage
    norm: str = "batch"  # over a rank's microbatch; shared: over all ranks; group: over each sample alone
    side: int = 224  # pixels, for images from a folder
    workers: int = -1  # data loader workers; -1: measured
    skip_bad: bool = False  # log unreadable images and replace them by others


class Classes:
    """A `Task` of image classification, with the metrics `validation` (mean loss) and `top1` accuracy."""

    measures: Sequence[str] = ("validation", "top1")
    alike = True

    def __init__(self, run: Run, data: tuple[Any, Any, image_data.ImageKind], options: Options) -> None:
        training, self._validation, kind = data
        draws = isinstance(training, image_data.InMemory)  # augments by itself, from sample index and seed
        self._training: Any = training if draws else Reproducible(training, seed=options.seed)
        self._run, self._workers = run, options.workers
        self._how: dict[str, Any] = {"collate_fn": image_data.identity_collate} if draws else {}
        network = ResNet(
            options.depth, kind.classes, channels=kind.channels, image=kind.side,
            width=options.width, norm=options.norm,
        )  # fmt: skip
        self.model: nn.Module = network.to(run.device, memory_format=torch.channels_last)  # type: ignore[call-overload]  # (not in torch's types)
        self.size, self.validation_size = len(training), len(self._validation)
        self.fingerprint = training.fingerprint

    def batches(self, sampler: Sampler) -> Iterable[Any]:
        """Return an iterable of this rank's batches of images and classes, prefetched by workers."""
        workers = None if self._workers < 0 else self._workers
        return Feeder(self._training, sampler, workers=workers, pin_memory=self._cuda, **self._how)

    def weight(self, sampler: Sampler) -> float:
        """Return the number of images in a step."""
        return sampler.batch

    def tokens(self, _sampler: Sampler) -> None:
        """Return None: images are not tokens."""

    def loss(self, model: nn.Module, piece: Any) -> Tensor:
        """Return the cross-entropy of these images, summed over them."""
        scores, classes = self._scores(model, piece)
        return F.cross_entropy(scores, classes, reduction="sum")

    def validation(self, passes: list[list[int]]) -> Iterable[Any]:
        """Return validation batches of images and classes for these lists of sample indexes."""
        workers = max(0, self._workers)
        return DataLoader(
            self._validation, batch_sampler=passes, num_workers=workers, pin_memory=self._cuda, **self._how
        )

    def judge(self, model: nn.Module, batch: Any) -> Tensor:
        """Return the number of images in a batch, their summed loss and the number classified correctly."""
        scores, classes = self._scores(model, batch)
        loss = F.cross_entropy(scores, classes, reduction="sum")
        return torch.stack((torch.full_like(loss, len(classes)), loss, (scores.argmax(1) == classes).sum()))

    def _scores(self, model: nn.Module, batch: Any) -> tuple[Tensor, Tensor]:
        images, classes = (tensor.to(self._run.device, non_blocking=True) for tensor in batch)
        return model(images.contiguous(memory_format=torch.channels_last)).float(), classes

    @property
    def _cuda(self) -> bool:
        return self._run.device.type == "cuda"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train a ResNet on images for `--steps` steps or until the run is stopped; the model is not written."""
    options = parse(Options, arguments)
    run = start(seed=options.seed, folder=options.folder or None, precision=options.precision)
    data = image_data.read(
        options.data, options.side, skip_bad=options.skip_bad, report=run.passed_over, seed=options.seed
    )
    train(run, Classes(run, data, options), options)
    run.finish()


if __name__ == "__main__":
    main()
