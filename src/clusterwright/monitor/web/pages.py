"""The page's skeleton with its first numbers, the sign-in form, and the files that never change."""

from __future__ import annotations

import gzip
import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

from clusterwright.i18n import LANGUAGES, _, in_language
from clusterwright.monitor.web.compact import Json


@cache
def words(lang: str) -> Mapping[str, str]:
    """Key to text."""
    text = files("clusterwright.monitor.web").joinpath("messages.toml").read_text(encoding="utf-8")
    with in_language("zh" if lang == "zh" else "en"):
        return {key: _(text) for key, text in tomllib.loads(text).items()}


def script(lang: str) -> str:
    """As the module that the page imports."""
    return f"export default {json.dumps(dict(words(lang)), ensure_ascii=False)};\n"


def spoken(cookie: str, accepted: str) -> str:
    """The language that was chosen, or the first of the browser's that we speak."""
    if cookie in LANGUAGES:
        return cookie
    tags = (tag.split(";")[0].strip().lower()[:2] for tag in accepted.split(","))
    return next((tag for tag in tags if tag in LANGUAGES), "en")


def preferences(cookies: Mapping[str, str], headers: Mapping[str, str]) -> tuple[str, str]:
    """Language and theme that were chosen, or what the browser asks for."""
    lang = spoken(cookies.get("wright-lang", ""), headers.get("accept-language", ""))
    return lang, cookies.get("wright-theme", "auto")


VIEWS = ("cluster", "gpus", "jobs", "queue", "teams", "alerts", "history")
SUMS = ("nodes", "gpus", "use", "running", "waiting", "alerts")
THEMES = ("auto", "light", "dark")
_TYPES = {
    "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Static:
    """One file as it is sent."""

    kind: str
    content: bytes
    packed: bytes


@cache
def statics() -> Mapping[str, Static]:
    """Name to file: all of the folder, and the words of each language as a module."""
    folder = files("clusterwright.monitor.web").joinpath("static")
    contents = {
        entry.name: entry.read_bytes() for entry in folder.iterdir() if not entry.name.endswith(".html")
    }
    contents |= {f"words.{lang}.js": script(lang).encode() for lang in LANGUAGES}
    return {
        name: Static(_TYPES[name.rsplit(".", 1)[1]], data, gzip.compress(data, 9, mtime=0))
        for name, data in contents.items()
        if name.rsplit(".", 1)[-1] in _TYPES
    }


@cache
def edition() -> str:
    """Part of every file's address, so that browsers may keep them for ever."""
    digest = hashlib.sha256()
    for name, file in sorted(statics().items()):
        digest.update(name.encode() + b"\0" + file.content)
    return digest.hexdigest()[:12]


@cache
def _template(name: str) -> Template:
    return Template(files("clusterwright.monitor.web").joinpath("static", name).read_text(encoding="utf-8"))


def index(cluster: str, sums: Mapping[str, Json], lang: str, theme: str) -> str:
    """The skeleton: head, numbers and places of the views."""
    texts = words(lang)
    return _filled(
        "index.html",
        lang,
        theme,
        {
            "cluster": escape(cluster),
            "tabs": "\n".join(
                f'<a href="#/{view}" '
                f'data-view="{view}"><span>{escape(texts["view." + view])}</span><kbd>{number}</kbd></a>'
                for number, view in enumerate(VIEWS, 1)
            ),
            "sums": "\n".join(
                f'<div data-sum="{name}"><dt>{escape(texts["sum." + name])}</dt>'
                f"<dd>{escape(_sum(name, sums))}</dd></div>"
                for name in SUMS
            ),
            "preload": "\n".join(
                f'<link rel="modulepreload" href="/static/{edition()}/{name}">' for name in _modules(lang)
            ),
        },
    )


def _modules(lang: str) -> list[str]:
    """Every script that the page will import; the words of the other language are none of them."""
    other_modules = {f"words.{language}.js" for language in LANGUAGES if language != lang}
    return [name for name in sorted(statics()) if name.endswith(".js") and name not in other_modules]


def _sum(name: str, sums: Mapping[str, Json]) -> str:
    """As the page itself will write it a moment later."""
    value = sums.get(name)
    if name == "gpus":
        return f"{sums.get('gpus_used', 0)} / {value or 0}"
    if name == "use":
        return "\N{EN DASH}" if not isinstance(value, (int, float)) else f"{round(value * 100)} %"
    return str(value or 0)


def sign_in(lang: str, theme: str, token: str, trouble: str) -> str:
    """The form; `trouble` is a key of the words, or nothing."""
    text = words(lang)[trouble] if trouble else ""
    return _filled(
        "sign-in.html",
        lang,
        theme,
        {"token": escape(token), "trouble": escape(text), "hidden": "" if text else "hidden"},
    )


def _filled(name: str, lang: str, theme: str, more: Mapping[str, str]) -> str:
    """Words stand in the template as ${word_KEY}, with _ for dots."""
    spoken = {
        f"word_{key.replace('.', '_').replace('-', '_')}": escape(text) for key, text in words(lang).items()
    }
    tag = "zh-CN" if lang == "zh" else "en"
    return _template(name).substitute(
        spoken
        | {"lang": lang, "tag": tag, "theme": theme if theme in THEMES else "auto", "edition": edition()}
        | dict(more)
    )
