"""Messages on their way; what fails says why, and never with the address, which is a secret."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from clusterwright.onhost.notify import messages
from clusterwright.onhost.notify.messages import truncate
from clusterwright.onhost.notify.settings import Settings, channel_address

TIMEOUT_S = 8.0
_MOST_ANSWER = 65536

# Bytes of a message: Feishu 20 KB a request, DingTalk 20,000 bytes, WeCom 2,048 of a text.
MOST = {"feishu": 16000, "dingtalk": 16000, "wecom": 2000}


class DeliveryError(Exception):
    """The room did not take the message."""


def send_to_channel(settings: Settings, name: str, payload: Mapping[str, Any]) -> None:
    """Told to the room.

    Raises:
        NotTakenError: it did not take it, with the reason.
    """
    kind = settings.rooms[name]
    title, text = messages.message(payload, settings.language)
    try:
        url, body = request(kind, channel_address(settings, name), title, text, time.time())
        answer = post(url, body, through_proxy=True)
    except (OSError, ValueError, IndexError) as error:
        raise DeliveryError(f"{name}: {_reason(error)}") from None
    trouble = refusal(answer)
    if trouble:
        raise DeliveryError(f"{name}: {trouble}")


def post(url: str, body: Any, *, through_proxy: bool = False) -> bytes:
    """The answer to a JSON body."""
    data = json.dumps(body, ensure_ascii=False).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json; charset=utf-8"})
    opener = urllib.request.build_opener(*([] if through_proxy else [urllib.request.ProxyHandler({})]))
    with opener.open(request, timeout=TIMEOUT_S) as answer:
        return bytes(answer.read(_MOST_ANSWER))


def _reason(why: Exception) -> str:
    if isinstance(why, urllib.error.HTTPError):
        return f"it answered {why.code}"
    cause = getattr(why, "reason", why)
    return getattr(cause, "strerror", None) or type(cause).__name__


def request(
    kind: str, address: tuple[str, str], title: str, text: str, now: float
) -> tuple[str, dict[str, Any]]:
    """Where it is sent, and the body."""
    url, key = address
    text = truncate(text, MOST[kind])
    if kind == "feishu":
        card = {
            "header": {"title": {"tag": "plain_text", "content": title}},
            "elements": [{"tag": "div", "text": {"tag": "plain_text", "content": text}}],
        }
        body: dict[str, Any] = {"msg_type": "interactive", "card": card}
        if key:
            second = str(int(now))
            body.update(timestamp=second, sign=_signed(f"{second}\n{key}", ""))
        return url, body
    body = {"msgtype": "text", "text": {"content": truncate(f"{title}\n{text}", MOST[kind])}}
    if kind == "dingtalk" and key:
        milli = str(int(now * 1000))
        sign = quote(_signed(key, f"{milli}\n{key}"), safe="")
        url += "{}timestamp={}&sign={}".format("&" if "?" in url else "?", milli, sign)
    return url, body


def _signed(key: str, text: str) -> str:
    return base64.b64encode(hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()).decode()


def refusal(answer: bytes) -> str | None:
    """Why the room did not take it, None where it did: they answer 200 to everything and say more in the body."""
    try:
        reply = json.loads(answer)
    except ValueError:
        return "an answer that is no JSON"
    if not isinstance(reply, dict):
        return "an answer that is no object"
    codes = [reply[name] for name in ("errcode", "code", "StatusCode") if name in reply]
    if codes and codes[0] == 0:
        return None
    return "{} {}".format(codes[0] if codes else "no code", reply.get("errmsg") or reply.get("msg") or "")
