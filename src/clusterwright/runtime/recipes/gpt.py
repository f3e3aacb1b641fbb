"""Train a small transformer on text: `python -m clusterwright.runtime.recipes.gpt --steps 300`.

Each byte is a token, so any file is text and no download is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.runtime import start
from clusterwright.runtime.recipes import text
from clusterwright.runtime.recipes.loop import train
from clusterwright.runtime.recipes.options import Common, parse
from clusterwright.runtime.recipes.transformer import Shape, Transformer
from clusterwright.runtime.recipes.windows import Windows


@dataclass(frozen=True)
class Options(Common):
    """Command-line options of the recipe."""

    context: int = 64  # bytes
    width: int = 128
    layers: int = 3
    heads: int = 4
    dropout: float = 0.1
    text: str = ""  # a folder of text files; default: Python's standard library
    text_bytes: int = 8_000_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Train a small GPT on text for `--steps` steps or until the run is stopped; the model is not written."""
    options = parse(Options, arguments)
    run = start(seed=options.seed, folder=options.folder or None, precision=options.precision)
    data = text.read(options.text, context=options.context, limit=options.text_bytes)
    shape = Shape(options.context, options.width, options.layers, options.heads, options.dropout)
    train(run, Windows(run, Transformer(shape).to(run.device), data, options.context), options)
    run.finish()


if __name__ == "__main__":
    main()
