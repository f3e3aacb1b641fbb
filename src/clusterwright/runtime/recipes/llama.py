"""Train a LLaMA on text: `python -m clusterwright.runtime.recipes.llama --steps 300`.

`--model FOLDER` gives config.json and, if it has any, the initial weights; without it, a small model over bytes is
trained. `--save FOLDER` writes the model in Hugging Face's layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.runtime import start
from clusterwright.runtime.recipes import folder, text, tokens
from clusterwright.runtime.recipes.loop import train
from clusterwright.runtime.recipes.models.llama import Llama
from clusterwright.runtime.recipes.models.llama_config import Config
from clusterwright.runtime.recipes.options import Common, parse
from clusterwright.runtime.recipes.windows import Windows


@dataclass(frozen=True)
class Options(Common):
    """Command-line options of the recipe."""

    context: int = 64  # tokens
    model: str = ""  # a folder with config.json and optional initial weights in safetensors
    save: str = ""  # a folder for the trained weights
    width: int = 128  # this and the next four: without --model
    inner: int = 384
    layers: int = 3
    heads: int = 4
    kv_heads: int = 2
    text: str = ""  # a folder of text files; default: Python's standard library
    text_bytes: int = 8_000_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Train a Llama model on text for `--steps` steps or until the run is stopped.

    A finished training writes the model to `--save`, if set.
    """
    options = parse(Options, arguments)
    run = start(seed=options.seed, folder=options.folder or None, precision=options.precision)
    config = shape(options)
    tokenizer = tokens.find(options.model)
    encode = tokens.encoder(tokenizer, config.vocab_size)
    data = text.read(options.text, context=options.context, limit=options.text_bytes, encode=encode)
    model = folder.begin(Llama(config), options.model).to(run.device)
    train(run, Windows(run, model, data, options.context), options)
    if options.save and not run.stopped:
        folder.save_model(model, options.save, options.model, run.rank)
    run.finish()


def shape(options: Options) -> Config:
    """Return the configuration of the model folder `--model`, else one built from the options, with bytes as tokens."""
    if options.model:
        return Config.read(Path(options.model, "config.json"))
    raw_config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": tokens.Bytes.size,
        "hidden_size": options.width, "intermediate_size": options.inner,
        "num_hidden_layers": options.layers, "num_attention_heads": options.heads,
        "num_key_value_heads": options.kv_heads, "max_position_embeddings": options.context,
        "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": False,
    }  # fmt: skip
    return Config.from_dict(raw_config)


if __name__ == "__main__":
    main()
