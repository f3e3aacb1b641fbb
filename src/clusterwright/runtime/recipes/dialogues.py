"""Lines of JSON that show how to answer: only the answers are learned.

A line is `{"prompt": ..., "response": ...}`, `{"instruction": ..., "input": ..., "output": ...}`, or
`{"messages": [{"role": "user", "content": ...}, {"role": "assistant", "content": ...}]}`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from clusterwright.runtime.datasets import BadSampleError, Jsonl
from clusterwright.runtime.recipes.tokens import Bytes, File

IGNORED = -100
_ROLES = ("system", "user", "assistant")
_HELD_OUT = 20  # each twentieth line is for validation
_MULTIPLE = 16  # lengths are filled up to it: tensor and context groups divide them


@dataclass(frozen=True)
class Sample:
    """The tokens of a dialogue, and which of them are learned."""

    tokens: list[int]
    learned: list[bool]

    @property
    def count(self) -> int:
        """How many tokens are foreseen and scored."""
        return sum(self.learned[1:])


@dataclass(frozen=True)
class Read:
    """What was read, and what was passed over."""

    training: list[Sample]
    validation: list[Sample]
    bad: list[str]

    @property
    def fingerprint(self) -> str:
        """Of the tokens to train on."""
        told = hashlib.sha256()
        for each in self.training:
            told.update(str(each.tokens).encode())
        return told.hexdigest()[:16]


def read(path: str, tokenizer: Bytes | File, context: int, *, skip_bad: bool) -> Read:
    """All lines of a file, or of the files of a folder; one that cannot be used is passed over if that is wanted.

    Raises:
        ValueError: a line cannot be used, or too few are left; file and line are named.
    """
    lines, bad = Jsonl(path), []
    good: list[Sample] = []
    for number in range(len(lines)):
        try:
            good.append(_sample(lines, number, tokenizer, context))
        except BadSampleError as why:
            if not skip_bad:
                raise ValueError(f"{why}; --skip-bad passes over such lines") from why
            bad.append(str(why))
    held = [n % _HELD_OUT == 1 for n in range(len(good))]
    if not any(held):
        raise ValueError(
            f"{path} holds {len(good)} good lines of {len(lines)}; two are the least, one is held out"
        )
    training = [each for each, out in zip(good, held) if not out]
    return Read(training, [each for each, out in zip(good, held) if out], bad)


def pad(samples: list[Sample]) -> tuple[Tensor, Tensor]:
    """Tokens and targets (B, T); what only fills up is neither seen by others nor scored."""
    longest = max(len(each.tokens) for each in samples) - 1
    length = -(-longest // _MULTIPLE) * _MULTIPLE
    tokens = torch.zeros(len(samples), length, dtype=torch.int64)
    targets = torch.full((len(samples), length), IGNORED)
    for row, each in enumerate(samples):
        size = len(each.tokens) - 1
        tokens[row, :size] = torch.tensor(each.tokens[:-1])
        aims = [token if learned else IGNORED for token, learned in zip(each.tokens, each.learned)]
        targets[row, :size] = torch.tensor(aims[1:])
    return tokens, targets


def _sample(lines: Jsonl, number: int, tokenizer: Bytes | File, context: int) -> Sample:
    told = lines[number]
    shard, inside = lines.place(number)
    try:
        made = encode(list(turns(told)), tokenizer)
    except (ValueError, KeyError, TypeError) as why:
        raise BadSampleError.of(lines.paths[shard], inside, why) from why
    cut = Sample(made.tokens[: context + 1], made.learned[: context + 1])
    if not cut.count:
        raise BadSampleError.of(lines.paths[shard], inside, f"no answer within --context {context}")
    return cut


def turns(told: Any) -> Iterator[tuple[str, str]]:
    """Role and words of each turn.

    Raises:
        ValueError: it is no dialogue.
    """
    if "messages" in told:
        found = [(each["role"], each["content"]) for each in told["messages"]]
    elif "instruction" in told:
        asked = "\n\n".join(each for each in (told["instruction"], told.get("input", "")) if each)
        found = [("user", asked), ("assistant", told["output"])]
    elif "prompt" in told:
        found = [("user", told["prompt"]), ("assistant", told.get("response") or told["completion"])]
    else:
        raise ValueError("it has neither `messages`, `instruction` nor `prompt`")
    for role, words in found:
        if role not in _ROLES or not isinstance(words, str):
            raise ValueError(f"role {role}: a turn is text by {', '.join(_ROLES)}")
        yield role, words


def encode(said: list[tuple[str, str]], tokenizer: Bytes | File) -> Sample:
    """In the form of Llama 3 where the tokenizer has its signs; else plain. An answer's end is learned, too."""
    begin, end = tokenizer.special("<|begin_of_text|>", "<s>"), tokenizer.special("<|eot_id|>", "</s>")
    opens, closes = tokenizer.special("<|start_header_id|>"), tokenizer.special("<|end_header_id|>")
    tokens = [begin] if begin is not None else []
    learned = [False] * len(tokens)
    for role, words in said:
        if opens is None or closes is None:
            head = tokenizer.encode(f"{role}: ")
        else:
            head = [opens, *tokenizer.encode(role), closes, *tokenizer.encode("\n\n")]
        body = [*tokenizer.encode(words), *([end] if end is not None else tokenizer.encode("\n"))]
        tokens += head + body
        learned += [False] * len(head) + [role == "assistant"] * len(body)
    return Sample(tokens, learned)
