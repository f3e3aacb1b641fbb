"""Tokenizers: bytes, or a tokenizer.json (needs the package tokenizers)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch


class Bytes:
    """A tokenizer with each byte as a token and no special tokens."""

    size = 256

    def encode(self, text: str) -> list[int]:
        """Return the UTF-8 bytes of a text as its tokens."""
        return list(text.encode())

    def special(self, *names: str) -> int | None:
        """Return None: a byte tokenizer has no special tokens."""
        del names
        return None


class File:
    """The tokenizer of a tokenizer.json."""

    def __init__(self, path: Path) -> None:
        try:
            import tokenizers  # type: ignore[import-not-found,unused-ignore]  # (optional)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"{path} needs `pip install clusterwright[train]`") from error
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:
            raise ValueError(f"{path}: {error}") from error
        self.size: int = self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, without begin and end tokens."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def special(self, *names: str) -> int | None:
        """Return the id of the first of these tokens that the vocabulary has, None without any."""
        return next((n for n in map(self._tokenizer.token_to_id, names) if n is not None), None)


def find(path: str) -> Bytes | File:
    """Return the tokenizer of a tokenizer.json file, or of a folder with one.

    A byte tokenizer without a path or such a file. A file of another name must exist.
    """
    if not path:
        return Bytes()
    file = Path(path, "tokenizer.json") if Path(path).is_dir() else Path(path)
    return File(file) if file.exists() or file.name != "tokenizer.json" else Bytes()


def encoder(tokenizer: Bytes | File, vocabulary: int, more: int = 0) -> Any:
    """Return a function from bytes to tokens, for `text.read`.

    Raises:
        ValueError: the model's vocabulary is smaller than the tokenizer's plus `more` special tokens.
    """
    if tokenizer.size + more > vocabulary:
        raise ValueError(
            f"vocab_size {vocabulary} is too small: the tokenizer has {tokenizer.size + more} tokens"
        )

    def encode(data: bytes) -> torch.Tensor:
        if isinstance(tokenizer, Bytes):
            return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0)
        return torch.tensor(tokenizer.encode(data.decode(errors="replace")), dtype=torch.int32)

    return encode
