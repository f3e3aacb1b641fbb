"""Translate messages: gettext catalogs in locale/; imports no other module of the package.

Texts are English in the source: `_("host {name} is not responding", name=host)`. `tools/messages` extracts them
into locale/zh/LC_MESSAGES/clusterwright.po, which is compiled when the package is built; a text that is not
translated stays English. `main` chooses the language of a process from `--lang`, `LC_ALL`, `LC_MESSAGES` and `LANG`,
`in_language` that of a block, such as one request of the web page. Programs on hosts write English only, as Slurm
and the kernel do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from gettext import NullTranslations

Lang = Literal["en", "zh"]

LANGUAGES: tuple[Lang, ...] = ("en", "zh")
LOCALE = Path(__file__).parent / "locale"

_process: list[Lang] = ["en"]  # the process's language, shared by its threads
_language: ContextVar[Lang | None] = ContextVar("language", default=None)


def _(message: str, /, **values: object) -> str:
    """Return the message in the current language, its `{name}` fields replaced by `values` as by str.format."""
    language = current_language()
    text = message if language == "en" or not message else _catalog(language).gettext(message)
    return text.format(**values) if values else text


def _n(singular: str, plural: str, count: int, /, **values: object) -> str:
    """Return the message in the current language: the singular if `count` is 1, else the plural (Chinese has one form).

    `{count}` and other fields are replaced, as by `_`.
    """
    language = current_language()
    if language == "en":
        text = singular if count == 1 else plural
    else:
        text = _catalog(language).ngettext(singular, plural, count)
    return text.format(count=count, **values)


def N_(message: str, /) -> str:  # noqa: N802 (gettext's own name)
    """Mark a text for extraction and return it unchanged; `_(text)` translates it when it is shown."""
    return message


def bilingual(message: str, /, **values: object) -> tuple[str, str]:
    """Return the message in English and in Chinese, for pages that show both."""
    with in_language("en"):
        english = _(message, **values)
    with in_language("zh"):
        return english, _(message, **values)


def both_languages(message: str, /, **values: object) -> str:
    """Return a message as `English 中文`, for labels inside a drawing; once where both are the same."""
    return " ".join(dict.fromkeys(bilingual(message, **values)))


def current_language() -> Lang:
    """Return the language of translated messages: that of the `in_language` block, else of the process."""
    return _language.get() or _process[0]


def set_language(language: Lang) -> None:
    """Set the language of the process, all its threads included."""
    _process[0] = language


@contextmanager
def in_language(language: Lang) -> Iterator[None]:
    """Set the language of translated messages for a `with` block; afterwards the former language is set again."""
    token = _language.set(language)
    try:
        yield
    finally:
        _language.reset(token)


def language_of(environment: Mapping[str, str]) -> Lang:
    """Return the language of the first of LC_ALL, LC_MESSAGES and LANG that is set; English unless it is Chinese."""
    values = (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "zh" if next(filter(None, values), "").startswith("zh") else "en"


@cache
def _catalog(language: Lang) -> NullTranslations:
    from gettext import translation

    return translation("clusterwright", LOCALE, [language], fallback=True)
