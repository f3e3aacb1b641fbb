"""Sends messages to chat channels; errors never contain the address, which is a secret."""

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
from clusterwright.onhost.notify.settings import NotifySettings, channel_address

TIMEOUT_S = 8.0
_MOST_ANSWER = 65536

# Bytes of a message: Feishu 20 KB a request, DingTalk 20,000 bytes, WeCom 2,048 of a text.
MOST = {"feishu": 16000, "dingtalk": 16000, "wecom": 2000}


class DeliveryError(Exception):
    """The channel did not accept the message."""


def send_to_channel(settings: NotifySettings, name: str, payload: Mapping[str, Any]) -> None:
    """Send the payload's message to the channel.

    Raises:
        DeliveryError: the channel did not accept it; the message is the reason.
    """
    kind = settings.channels[name]
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
    """Post a JSON body and return the response; proxy variables are ignored unless `through_proxy`."""
    data = json.dumps(body, ensure_ascii=False).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json; charset=utf-8"})
    opener = urllib.request.build_opener(*([] if through_proxy else [urllib.request.ProxyHandler({})]))
    with opener.open(request, timeout=TIMEOUT_S) as answer:
        return bytes(answer.read(_MOST_ANSWER))


def _reason(reason: Exception) -> str:
    if isinstance(reason, urllib.error.HTTPError):
        return f"HTTP status {reason.code}"
    cause = getattr(reason, "reason", reason)
    return getattr(cause, "strerror", None) or type(cause).__name__


def request(
    kind: str, address: tuple[str, str], title: str, text: str, now: float
) -> tuple[str, dict[str, Any]]:
    """Return URL and JSON body of the request to a channel of kind feishu, dingtalk or wecom, signed if it has a key.

    `address` is the URL and the key, `now` epoch seconds.
    """
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
    """Return why the channel rejected the message, by its response; None if it accepted it.

    Errors come with HTTP status 200.
    """
    try:
        reply = json.loads(answer)
    except ValueError:
        return "the response is not JSON"
    if not isinstance(reply, dict):
        return "the response is not a JSON object"
    codes = [reply[name] for name in ("errcode", "code", "StatusCode") if name in reply]
    if codes and codes[0] == 0:
        return None
    return "{} {}".format(codes[0] if codes else "no code", reply.get("errmsg") or reply.get("msg") or "")
