"""Fine-tune a LLaMA on dialogues: `python -m clusterwright.runtime.recipes.instruct --model FOLDER --data FILE.jsonl`.

Trains all weights, or with `--lora 16` adapters only. The loss covers answers only; `dialogues` documents the format
of a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from clusterwright.runtime import Run, Sampler, start
from clusterwright.runtime.recipes import dialogues, folder, lora, tokens
from clusterwright.runtime.recipes.loop import train
from clusterwright.runtime.recipes.models.llama import Llama
from clusterwright.runtime.recipes.models.llama_config import Config
from clusterwright.runtime.recipes.options import Common, parse


@dataclass(frozen=True)
class Options(Common):
    """Command-line options of the recipe."""

    learning_rate: float = 2e-5
    weight_decay: float = 0.0
    batch: int = 16
    microbatch: int = 4
    model: str = ""  # a folder with config.json, weights in safetensors, and tokenizer.json
    data: str = ""  # a file of JSON lines, or a folder of such files
    save: str = ""  # a folder for the result; default: `model` in the run's folder
    context: int = 2048  # tokens; longer dialogues are truncated
    lora: int = 0  # rank of the adapters; 0: train all weights
    alpha: float = 0.0  # scale of the adapters; default: twice the rank
    skip_bad: bool = False  # log unusable lines and skip them


class Answers:
    """A `Task` of predicting the answers in dialogues; its metric `validation` is the mean loss per answer token."""

    measures: Sequence[str] = ("validation",)
    alike = False

    def __init__(self, run: Run, model: nn.Module, data: dialogues.Read) -> None:
        self.model, self._device = model, run.device
        self._training, self._validation = data.training, data.validation
        self.size, self.validation_size = len(data.training), len(data.validation)
        self.fingerprint = data.fingerprint

    def batches(self, sampler: Sampler) -> Sampler:
        """Return the sampler: batches are indexes of dialogues."""
        return sampler

    def weight(self, sampler: Sampler) -> float:
        """Return the number of answer tokens in the next step over all ranks, by the sampler's order."""
        return sum(self._training[n].count for n in self._everyones(sampler))

    def tokens(self, sampler: Sampler) -> int:
        """Return the number of all tokens in the next step over all ranks."""
        return sum(len(self._training[n].tokens) for n in self._everyones(sampler))

    def loss(self, model: nn.Module, piece: Sequence[int]) -> Tensor:
        """Return the loss of these dialogues, summed over their answer tokens."""
        return self._loss(model, [self._training[n] for n in piece])

    def validation(self, passes: list[list[int]]) -> list[list[int]]:
        """Return these lists of indexes, which are the batches of validation dialogues, unchanged."""
        return passes

    def judge(self, model: nn.Module, batch: Sequence[int]) -> Tensor:
        """Return the number of answer tokens of these validation dialogues and their summed loss."""
        samples = [self._validation[n] for n in batch]
        loss = self._loss(model, samples)
        return torch.stack((torch.full_like(loss, sum(sample.count for sample in samples)), loss))

    def _loss(self, model: nn.Module, samples: list[dialogues.Sample]) -> Tensor:
        loss: Tensor = model(*(tensor.to(self._device) for tensor in dialogues.pad(samples)))
        return loss

    @staticmethod
    def _everyones(sampler: Sampler) -> list[int]:
        return [sampler.sample(n) for n in range(sampler.consumed, sampler.consumed + sampler.batch)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train a model on dialogues for `--steps` steps or until the run is stopped.

    A finished training writes the model, or with `--lora` the adapters.

    Raises:
        ValueError: an option is missing, or `--lora` is combined with tensor parallelism.
    """
    options = parse(Options, arguments)
    if not options.model or not options.data:
        raise ValueError("--model or --data is missing; fix: pass --model FOLDER and --data FILE.jsonl")
    run = start(seed=options.seed, folder=options.folder or None, precision=options.precision)
    config, tokenizer = Config.read(Path(options.model, "config.json")), tokens.find(options.model)
    tokens.encoder(tokenizer, config.vocab_size)
    data = dialogues.read(options.data, tokenizer, options.context, skip_bad=options.skip_bad)
    run.record(
        "data",
        samples=len(data.training),
        held_out=len(data.validation),
        bad=len(data.bad),
        first_bad=data.bad[:3],
    )
    model = folder.begin(Llama(config), options.model, needed=True).to(run.device)
    if options.lora and run.dimensions["tp"] > 1:
        raise ValueError(
            f"--lora does not support parallel: tensor: {run.dimensions['tp']}; fix: use shard: full"
        )
    if options.lora:
        lora.adapt(model, options.lora, options.alpha or 2 * options.lora)
    train(run, Answers(run, model, data), options)
    if not run.stopped:
        save_model(run, model, options)
    run.finish()


def save_model(run: Run, model: Llama, options: Options) -> None:
    """Write the trained model or its adapters to `--save` or the run's folder; nothing without either."""
    if not options.save and not run.folder:
        return
    target = Path(options.save) if options.save else Path(run.folder or "", "model")
    if options.lora:
        alpha = options.alpha or 2 * options.lora
        lora.save_adapter(
            model, target, base=options.model, rank=options.lora, alpha=alpha, writer_rank=run.rank
        )
    else:
        folder.save_model(model, str(target), options.model, run.rank)


if __name__ == "__main__":
    main()
