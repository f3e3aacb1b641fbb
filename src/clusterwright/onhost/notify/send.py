"""Messages on their way; what fails says why, and never with the address, which is a secret."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from clusterwright.onhost.notify import rooms, words
from clusterwright.onhost.notify.settings import Settings, room

TIMEOUT_S = 8.0
_MOST_ANSWER = 65536


class NotTakenError(Exception):
    """The room did not take the message."""


def to_room(settings: Settings, name: str, told: Mapping[str, Any]) -> None:
    """Told to the room.

    Raises:
        NotTakenError: it did not take it, with the reason.
    """
    kind = settings.rooms[name]
    title, text = words.message(told, settings.language)
    try:
        url, body = rooms.request(kind, room(settings, name), title, text, time.time())
        answer = post(url, body, through_proxy=True)
    except (OSError, ValueError, IndexError) as why:
        raise NotTakenError(f"{name}: {_reason(why)}") from None
    trouble = rooms.trouble(answer)
    if trouble:
        raise NotTakenError(f"{name}: {trouble}")


def post(url: str, body: Any, *, through_proxy: bool = False) -> bytes:
    """The answer to a JSON body."""
    data = json.dumps(body, ensure_ascii=False).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json; charset=utf-8"})
    opener = urllib.request.build_opener(*([] if through_proxy else [urllib.request.ProxyHandler({})]))
    with opener.open(asked, timeout=TIMEOUT_S) as answer:
        return bytes(answer.read(_MOST_ANSWER))


def _reason(why: Exception) -> str:
    if isinstance(why, urllib.error.HTTPError):
        return f"it answered {why.code}"
    cause = getattr(why, "reason", why)
    return getattr(cause, "strerror", None) or type(cause).__name__
