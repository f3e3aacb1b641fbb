"""Every word of the page, in English and Chinese; one file, so that none can be missing in one of them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

LANGUAGES = ("en", "zh")


@cache
def words(lang: str) -> Mapping[str, str]:
    """Key to text."""
    text = files("clusterwright.monitor.web").joinpath("words.toml").read_text(encoding="utf-8")
    at = LANGUAGES.index(lang)
    return {key: both[at] for key, both in tomllib.loads(text).items()}


def script(lang: str) -> str:
    """As the module that the page imports."""
    return f"export default {json.dumps(dict(words(lang)), ensure_ascii=False)};\n"


def spoken(cookie: str, accepted: str) -> str:
    """The language that was chosen, or the first of the browser's that we speak."""
    if cookie in LANGUAGES:
        return cookie
    tags = (tag.split(";")[0].strip().lower()[:2] for tag in accepted.split(","))
    return next((tag for tag in tags if tag in LANGUAGES), "en")


def looks(cookies: Mapping[str, str], headers: Mapping[str, str]) -> tuple[str, str]:
    """Language and theme that were chosen, or what the browser asks for."""
    lang = spoken(cookies.get("wright-lang", ""), headers.get("accept-language", ""))
    return lang, cookies.get("wright-theme", "auto")
