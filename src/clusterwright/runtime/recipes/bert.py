"""Train a BERT on masked text: `python -m clusterwright.runtime.recipes.bert --steps 300`.

`--config` is a config.json like bert-large's, `--tokenizer` a tokenizer.json; default: a small model over bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clusterwright.runtime import Run, Sampler, sample_seed, start
from clusterwright.runtime.recipes import folder, text, tokens
from clusterwright.runtime.recipes.loop import train
from clusterwright.runtime.recipes.models.bert import Bert, Config
from clusterwright.runtime.recipes.options import Common, parse
from clusterwright.runtime.recipes.text import Text
from clusterwright.runtime.recipes.windows import Windows

_SHARE = 0.15
_MASKED, _RANDOM = 0.8, 0.9  # cumulative: 80 % mask token, 10 % random token, 10 % unchanged


class Mask:
    """Masks the same number of tokens in each window, chosen by seed, window index and epoch."""

    def __init__(self, context: int, tokens: int, sign: int, seed: int) -> None:
        self.count = max(1, round(_SHARE * context))
        self._tokens, self._sign, self._seed = tokens, sign, seed

    def hide(self, windows: Tensor, numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the windows (B, T) with masked tokens, and the masked positions (B, K).

        Of the masked tokens 80% become the mask token, 10% a random one, and 10% stay.
        """
        hidden, places = windows.clone(), torch.empty(len(windows), self.count, dtype=torch.int64)
        for row, number in enumerate(numbers):
            draw = torch.Generator().manual_seed(sample_seed(number, self._seed))
            places[row] = torch.randperm(windows.shape[1], generator=draw)[: self.count]
            odds = torch.rand(self.count, generator=draw)
            random_tokens = torch.randint(self._tokens, (self.count,), generator=draw)
            stays = windows[row, places[row]]
            wrong = torch.where(odds < _MASKED, torch.tensor(self._sign), random_tokens)
            hidden[row, places[row]] = torch.where(odds < _RANDOM, wrong, stays)
        return hidden, places


@dataclass(frozen=True)
class Options(Common):
    """Command-line options of the recipe."""

    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    context: int = 64  # tokens
    config: str = ""
    tokenizer: str = ""
    save: str = ""  # a folder for the trained weights
    width: int = 128  # this and the next three: without --config
    layers: int = 3
    heads: int = 4
    dropout: float = 0.1
    text: str = ""  # a folder of text files; default: Python's standard library
    text_bytes: int = 8_000_000


class Masked(Windows):
    """A `Task` of masked language modeling; the metric `found` is the share of masked tokens predicted correctly."""

    measures: Sequence[str] = ("validation", "found")

    def __init__(self, run: Run, model: Bert, data: tuple[Text, Text], context: int, mask: Mask) -> None:
        super().__init__(run, model, data, context)
        self._mask = mask

    def weight(self, sampler: Sampler) -> float:
        """Return the number of masked tokens in a step."""
        return sampler.batch * self._mask.count

    def judge(self, model: nn.Module, batch: Sequence[int]) -> Tensor:
        """Return the number of a batch's masked tokens, their summed loss and the number predicted correctly."""
        scores, aims = self._scores(model, self._validation, batch)
        loss = F.cross_entropy(scores, aims, reduction="sum")
        return torch.stack((torch.full_like(loss, len(aims)), loss, (scores.argmax(1) == aims).sum()))

    def _loss(self, model: nn.Module, data: Text, numbers: Sequence[int]) -> Tensor:
        return F.cross_entropy(*self._scores(model, data, numbers), reduction="sum")

    def _scores(self, model: nn.Module, data: Text, numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
        windows = data.windows(numbers, torch.device("cpu"))[:, : self._context]
        hidden, places = (tensor.to(self._device) for tensor in self._mask.hide(windows, numbers))
        aims = torch.gather(windows.to(self._device), 1, places)
        return model(hidden, places).float().flatten(0, 1), aims.flatten()


def main(arguments: Sequence[str] | None = None) -> None:
    """Train a masked language model for `--steps` steps or until the run is stopped.

    A finished training writes the model to `--save`, if set.

    Raises:
        ValueError: `--context` exceeds the positions of the config.
    """
    options = parse(Options, arguments)
    run = start(seed=options.seed, folder=options.folder or None, precision=options.precision)
    config, tokenizer = shape(options), tokens.find(options.tokenizer)
    if options.context > config.max_position_embeddings:
        raise ValueError(
            f"--context {options.context} exceeds the {config.max_position_embeddings} positions of the config"
        )
    sign = tokenizer.special("[MASK]", "<mask>")
    encode = tokens.encoder(tokenizer, config.vocab_size, more=int(sign is None))
    data = text.read(options.text, context=options.context, limit=options.text_bytes, encode=encode)
    mask = Mask(options.context, tokenizer.size, tokenizer.size if sign is None else sign, options.seed)
    model = Bert(config).to(run.device)
    train(run, Masked(run, model, data, options.context, mask), options)
    if options.save and not run.stopped:
        folder.save_model(model, options.save, "", run.rank)
    run.finish()


def shape(options: Options) -> Config:
    """Return the model configuration of `--config`, else one of the options' sizes with bytes and a mask as tokens."""
    if options.config:
        return Config.read(Path(options.config))
    raw_config = {
        "architectures": ["BertForMaskedLM"], "model_type": "bert", "vocab_size": tokens.Bytes.size + 1,
        "hidden_size": options.width, "num_hidden_layers": options.layers,
        "num_attention_heads": options.heads, "intermediate_size": 4 * options.width,
        "max_position_embeddings": options.context, "hidden_dropout_prob": options.dropout,
    }  # fmt: skip
    config_fields = {name: value for name, value in raw_config.items() if name in Config.__dataclass_fields__}
    return Config(**config_fields, raw_config=raw_config)  # type: ignore[arg-type]  # (each is of its field's type)


if __name__ == "__main__":
    main()
