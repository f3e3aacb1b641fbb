"""How each kind of chat room is spoken to: body, signature, and what it answers when it took the message. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import quote

from clusterwright.onhost.notify.words import cut

# Bytes of a message: Feishu 20 KB a request, DingTalk 20,000 bytes, WeCom 2,048 of a text.
MOST = {"feishu": 16000, "dingtalk": 16000, "wecom": 2000}


def request(
    kind: str, address: tuple[str, str], title: str, text: str, now: float
) -> tuple[str, dict[str, Any]]:
    """Where it is sent, and the body."""
    url, key = address
    text = cut(text, MOST[kind])
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
    body = {"msgtype": "text", "text": {"content": cut(f"{title}\n{text}", MOST[kind])}}
    if kind == "dingtalk" and key:
        milli = str(int(now * 1000))
        sign = quote(_signed(key, f"{milli}\n{key}"), safe="")
        url += "{}timestamp={}&sign={}".format("&" if "?" in url else "?", milli, sign)
    return url, body


def _signed(key: str, text: str) -> str:
    return base64.b64encode(hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()).decode()


def trouble(answer: bytes) -> str | None:
    """Why the room did not take it, None where it did: they answer 200 to everything and say more in the body."""
    try:
        said = json.loads(answer)
    except ValueError:
        return "an answer that is no JSON"
    if not isinstance(said, dict):
        return "an answer that is no object"
    codes = [said[name] for name in ("errcode", "code", "StatusCode") if name in said]
    if codes and codes[0] == 0:
        return None
    return "{} {}".format(codes[0] if codes else "no code", said.get("errmsg") or said.get("msg") or "")
