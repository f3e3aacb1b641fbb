"""The HTML page with its first sums, the sign-in form, and the static files."""

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

from clusterwright.i18n import LANGUAGES, Lang, _, in_language
from clusterwright.monitor.web.compact import Json


@cache
def words(lang: Lang) -> Mapping[str, str]:
    """Return the texts of the web page, messages.toml, by key, translated to a language."""
    text = files("clusterwright.monitor.web").joinpath("messages.toml").read_text(encoding="utf-8")
    with in_language(lang):
        return {key: _(text) for key, text in tomllib.loads(text).items()}


def script(lang: Lang) -> str:
    """Return the page's texts in a language as a JavaScript module."""
    return f"export default {json.dumps(dict(words(lang)), ensure_ascii=False)};\n"


def preferred_language(cookie: str, accepted: str) -> Lang:
    """Return the language of the cookie if supported, else of `Accept-Language` the first supported, or English."""
    tags = (tag.split(";")[0].strip().lower()[:2] for tag in accepted.split(","))
    chosen = cookie if cookie in LANGUAGES else next((tag for tag in tags if tag in LANGUAGES), "en")
    return "zh" if chosen == "zh" else "en"


def preferences(cookies: Mapping[str, str], headers: Mapping[str, str]) -> tuple[Lang, str]:
    """Return language and theme of the cookies; default: the language of the browser, and `auto`."""
    lang = preferred_language(cookies.get("wright-lang", ""), headers.get("accept-language", ""))
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
    """One static file, plain and compressed."""

    kind: str
    content: bytes
    packed: bytes


@cache
def statics() -> Mapping[str, Static]:
    """Return static files by name: those of the folder with a known type, and the texts of each language as a module.

    They are read once.
    """
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
    """Return a digest of all static files, which is in their URLs, so that browsers can cache them forever."""
    digest = hashlib.sha256()
    for name, file in sorted(statics().items()):
        digest.update(name.encode() + b"\0" + file.content)
    return digest.hexdigest()[:12]


@cache
def _template(name: str) -> Template:
    return Template(files("clusterwright.monitor.web").joinpath("static", name).read_text(encoding="utf-8"))


def index(cluster: str, sums: Mapping[str, Json], lang: Lang, theme: str) -> str:
    """Render the HTML page: tabs, sums of the cluster, and empty containers of the views that the browser fills."""
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


def _modules(lang: Lang) -> list[str]:
    """Return all scripts that the page imports, without the texts of the other language."""
    other_modules = {f"words.{language}.js" for language in LANGUAGES if language != lang}
    return [name for name in sorted(statics()) if name.endswith(".js") and name not in other_modules]


def _sum(name: str, sums: Mapping[str, Json]) -> str:
    """Format a sum as the page's script does: `used / total` for GPUs, percent or a dash for use, else a number."""
    value = sums.get(name)
    if name == "gpus":
        return f"{sums.get('gpus_used', 0)} / {value or 0}"
    if name == "use":
        return "\N{EN DASH}" if not isinstance(value, (int, float)) else f"{round(value * 100)} %"
    return str(value or 0)


def sign_in(lang: Lang, theme: str, token: str, trouble: str) -> str:
    """Render the HTML of the sign-in form with its token; `trouble` is a key of messages.toml for an error, or ""."""
    text = words(lang)[trouble] if trouble else ""
    return _filled(
        "sign-in.html",
        lang,
        theme,
        {"token": escape(token), "trouble": escape(text), "hidden": "" if text else "hidden"},
    )


def _filled(name: str, lang: Lang, theme: str, more: Mapping[str, str]) -> str:
    """Return an HTML template filled with the page's texts, language, theme and `more`, whose values are not escaped.

    The text with key `a.b-c` is ${word_a_b_c} in the template.
    """
    texts = {
        f"word_{key.replace('.', '_').replace('-', '_')}": escape(text) for key, text in words(lang).items()
    }
    tag = "zh-CN" if lang == "zh" else "en"
    return _template(name).substitute(
        texts
        | {"lang": lang, "tag": tag, "theme": theme if theme in THEMES else "auto", "edition": edition()}
        | dict(more)
    )
