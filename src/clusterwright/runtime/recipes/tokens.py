"""Text as numbers: bytes, or the tokens of a tokenizer.json (with the package tokenizers)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch


class Bytes:
    """Every byte is a token; any special one has a number after them."""

    size = 256

    def encode(self, text: str) -> list[int]:
        """The bytes of a text."""
        return list(text.encode())

    def special(self, *names: str) -> int | None:
        """There are none."""
        del names
        return None


class File:
    """A tokenizer.json."""

    def __init__(self, path: Path) -> None:
        try:
            import tokenizers  # type: ignore[import-not-found,unused-ignore]  # (an extra)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"{path} needs `pip install clusterwright[train]`") from error
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:
            raise ValueError(f"{path}: {error}") from error
        self.size: int = self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, without those that begin and end it."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def special(self, *names: str) -> int | None:
        """The number of the first of these that the file has."""
        return next((n for n in map(self._tokenizer.token_to_id, names) if n is not None), None)


def find(path: str) -> Bytes | File:
    """The tokenizer of a file, or of a folder that holds one; else bytes."""
    if not path:
        return Bytes()
    file = Path(path, "tokenizer.json") if Path(path).is_dir() else Path(path)
    return File(file) if file.exists() or file.name != "tokenizer.json" else Bytes()


def encoder(tokenizer: Bytes | File, vocabulary: int, more: int = 0) -> Any:
    """What `text.read` makes of bytes.

    Raises:
        ValueError: the model has fewer tokens than the tokenizer, and `more` special ones.
    """
    if tokenizer.size + more > vocabulary:
        raise ValueError(
            f"vocab_size {vocabulary} is too small: the text has {tokenizer.size + more} kinds of tokens"
        )

    def encode(data: bytes) -> torch.Tensor:
        if isinstance(tokenizer, Bytes):
            return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0)
        return torch.tensor(tokenizer.encode(data.decode(errors="replace")), dtype=torch.int32)

    return encode
