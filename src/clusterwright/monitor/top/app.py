"""The screen: nodes, jobs, teams and alerts side by side, and one beneath the other where it is narrow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.widgets import Input, Static

from clusterwright.errors import WrightError
from clusterwright.monitor.gather.kept import EVERY_S, Kept
from clusterwright.monitor.picture import JobView, Picture, lacks
from clusterwright.monitor.picture.visible import visible
from clusterwright.monitor.top import columns, detail, groups
from clusterwright.monitor.top.columns import Way, heads
from clusterwright.monitor.top.groups import Group
from clusterwright.monitor.top.listing import Listing
from clusterwright.monitor.top.once import folded
from clusterwright.monitor.top.queue import View
from clusterwright.monitor.top.screens import Ask, Page, keys
from clusterwright.monitor.top.words import Lang, word

NARROW = 100  # columns under which one panel is shown at a time
PANELS = ("nodes", "jobs", "teams", "alerts")
R = TypeVar("R")


class Acts(Protocol):
    """What may be done with a job from here; each returns lines for people, and raises WrightError."""

    user: str

    def cancel(self, job: JobView) -> str:
        """End it."""
        ...

    def output(self, job: JobView) -> str:
        """The end of what it printed."""
        ...

    def why(self, job: JobView) -> str:
        """Why it waits or failed."""
        ...


@dataclass
class Shown:
    """What a person has chosen to see."""

    view: View = field(default_factory=View)
    opened: set[str] = field(default_factory=set)


class Top(App[None]):
    """`wright top`."""

    CSS_PATH = "top.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c", "quit", show=False, priority=False),
        Binding("tab", "next(1)", show=False, priority=True),
        Binding("shift+tab", "next(-1)", show=False, priority=True),
        *(Binding(str(place + 1), f"panel('{name}')", show=False) for place, name in enumerate(PANELS)),
        Binding("slash", "search", show=False),
        Binding("escape", "plain", show=False),
        Binding("s", "sort", show=False),
        Binding("S", "turn", show=False),
        Binding("f", "filter", show=False),
        Binding("u", "mine", show=False),
        Binding("l,o", "about('output')", show=False),
        Binding("w", "about('why')", show=False),
        Binding("c,d", "cancel", show=False),
        Binding("r", "look", show=False),
        Binding("question_mark,h", "help", show=False),
    ]

    def __init__(self, kept: Kept, acts: Acts, way: Way, host: str = "") -> None:
        super().__init__()
        self._kept, self._acts, self._way, self._host = kept, acts, way, host
        self.shown = Shown()
        self.picture: Picture | None = None
        self.aside: list[threading.Thread] = []

    def compose(self) -> ComposeResult:
        """A headline, four lists, a line that says what is chosen, and a place to type a search."""
        yield Static(word("asking", self._lang, host=self._host), id="head", markup=False)
        with Horizontal(id="upper"):
            yield self._listing("nodes", columns.NODES, columns.of_group, _node_key)
            with Vertical(id="beside"):
                yield self._listing("teams", columns.TEAMS, columns.of_team, lambda team: str(team.name))
                yield self._listing("alerts", columns.ALERTS, columns.of_alert, _alert_key)
        yield self._listing("jobs", columns.JOBS, columns.of_job, lambda job: str(job.id))
        yield Static("", id="foot", markup=False)
        yield Input(id="search", placeholder=word("search", self._lang))

    @property
    def _lang(self) -> Lang:
        return self._way.lang

    def _listing(
        self,
        name: str,
        kinds: Sequence[columns.Column],
        cells: Callable[[Any, Way], columns.Cells],
        key: Callable[[Any], str],
    ) -> Listing:
        listing = Listing(kinds, lambda item: cells(item, self._way), key, id=name)
        listing.border_title = word(name, self._lang)
        return listing

    def on_mount(self) -> None:
        """Ask at once, and then as often as may be asked."""
        self.query_one("#search").display = False
        self.action_panel("jobs")
        self.action_look()
        self.set_interval(EVERY_S, self.action_look)

    def on_resize(self, event: Resize) -> None:
        """One panel at a time where there is no room for four."""
        self.set_class(event.size.width < NARROW, "narrow")

    def action_look(self) -> None:
        """A newer picture, if there may be one, and nobody looks already."""
        if not any(thread.name == "look" and thread.is_alive() for thread in self.aside):
            self._aside("look", self._kept.newest, self._take)

    def _aside(self, name: str, ask: Callable[[], R], then: Callable[[R], object]) -> None:
        """Ask in a thread, and then go on here. Who leaves the screen does not wait for a host that hangs."""

        def work() -> None:
            found = ask()
            with suppress(RuntimeError):  # the screen is gone
                self.call_from_thread(then, found)

        self.aside = [each for each in self.aside if each.is_alive()]
        self.aside.append(threading.Thread(target=work, name=name, daemon=True))
        self.aside[-1].start()

    def _take(self, picture: Picture | None) -> None:
        if picture is not None:
            self.picture, self._way = picture, replace(self._way, now=picture.taken)
        self.paint()

    def paint(self) -> None:
        """Everything that the picture changes."""
        self._paint_head()
        if self.picture is None:
            return
        lists: dict[str, tuple[Sequence[Any], Sequence[columns.Column]]] = {
            "nodes": (groups.rows(self.picture, self.shown.opened), columns.NODES),
            "jobs": (self.shown.view.of(self.picture.jobs), columns.JOBS),
            "teams": (self.picture.teams, columns.TEAMS), "alerts": (self.picture.alerts, columns.ALERTS),
        }  # fmt: skip
        for name, (items, kinds) in lists.items():
            self._list(name).fill(items, heads(kinds, self._lang))
        self._paint_foot(len(lists["jobs"][0]))

    def _paint_head(self) -> None:
        lines = folded(columns.headline(self.picture, self._way), self.size.width - 2) if self.picture else []
        if self.picture:
            missing = word("missing", self._lang)
            lines += [
                Text(f"{missing}: {visible(lacks(each, self._lang))}", "magenta")
                for each in self.picture.missing
            ]
        if self._kept.trouble:
            lines.append(Text(visible(str(self._kept.trouble)), "bold red"))
        if lines:
            self.query_one("#head", Static).update(Text("\n").join(lines))

    def _paint_foot(self, count: int) -> None:
        view, lang = self.shown.view, self._lang
        parts = [
            word("filter", lang, what=word(view.shown, lang)),
            word("sort", lang, by=word(view.sort, lang)),
        ]
        parts += [word("mine", lang)] if view.user else []
        parts += [word("found", lang, text=visible(view.text, 40))] if view.text else []
        total = len(self.picture.jobs) if self.picture else 0
        self._list("jobs").border_title = f"{word('jobs', lang)} {count}/{total}"
        self.query_one("#foot", Static).update("   ".join([*parts, "?: keys" if lang == "en" else "?: 按键"]))

    def _list(self, name: str) -> Listing:
        return self.query_one(f"#{name}", Listing)

    def action_panel(self, name: str) -> None:
        """That one has the keys."""
        for each in PANELS:
            self.set_class(each == name, f"on-{each}")
        self._list(name).focus()

    def action_next(self, by: int) -> None:
        """The next panel."""
        now = next((place for place, name in enumerate(PANELS) if self._list(name).has_focus), 0)
        self.action_panel(PANELS[(now + by) % len(PANELS)])

    def on_listing_chosen(self, event: Listing.Chosen) -> None:
        """More about it; a group of nodes opens and closes."""
        if isinstance(event.item, Group):
            self.shown.opened ^= {event.item.key}
            self.paint()
        elif self.picture:
            self.push_screen(Page(detail.of(event.item, self.picture, self._way), self._lang))

    def _see(self, view: View) -> None:
        self.shown.view = view
        self._list("jobs").to_top()
        self.paint()

    def action_sort(self) -> None:
        """By the next column."""
        self._see(self.shown.view.next_sort())

    def action_turn(self) -> None:
        """The other way around."""
        self._see(replace(self.shown.view, turned=not self.shown.view.turned))

    def action_filter(self) -> None:
        """All, those that run, those that wait."""
        self._see(self.shown.view.next_shown())

    def action_mine(self) -> None:
        """One person's jobs, or everybody's."""
        self._see(replace(self.shown.view, user="" if self.shown.view.user else self._acts.user))

    def action_search(self) -> None:
        """A place to type."""
        box = self.query_one("#search", Input)
        box.display = True
        box.focus()

    def action_plain(self) -> None:
        """No search any more."""
        box = self.query_one("#search", Input)
        if box.display or self.shown.view.text:
            box.value = ""
            self._leave_search()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Jobs are found as one types."""
        self._see(replace(self.shown.view, text=event.value))

    def on_input_submitted(self) -> None:
        """What was typed stays."""
        self._leave_search()

    def _leave_search(self) -> None:
        self.query_one("#search").display = False
        self.action_panel("jobs")

    def action_help(self) -> None:
        """The keys."""
        self.push_screen(Page(keys(self._lang), self._lang))

    def _job(self) -> JobView | None:
        job = self._list("jobs").chosen if self._list("jobs").has_focus else None
        if job is None:
            self.notify(word("no_job", self._lang), markup=False)
        return job

    def action_about(self, what: str) -> None:
        """What it printed, or why it waits: asked of the cluster."""
        if job := self._job():
            self._aside("about", partial(self._told, what, job), self._tell)

    def _told(self, what: str, job: JobView) -> str:
        try:
            return self._acts.output(job) if what == "output" else self._acts.why(job)
        except WrightError as why:
            return str(why)

    def _tell(self, text: str) -> None:
        lines = [[(visible(line, 1000), "")] for line in text.splitlines() or ["-"]]
        self.push_screen(Page(lines, self._lang))

    def action_cancel(self) -> None:
        """Asks, and then does it."""
        if job := self._job():
            question = word(
                "cancel", self._lang, job=job.id, user=visible(job.user, 32), name=visible(job.name, 64)
            )
            self.push_screen(Ask(question, self._lang), partial(self._agreed, job))

    def _agreed(self, job: JobView, yes: bool | None) -> None:  # noqa: FBT001 (what the question is answered with)
        if yes:
            self.notify(word("cancelling", self._lang, job=job.id), markup=False)
            self._aside("cancel", partial(self._refused, job), partial(self._ended, job))

    def _refused(self, job: JobView) -> str:
        try:
            self._acts.cancel(job)
        except WrightError as why:
            return str(why)
        return ""

    def _ended(self, job: JobView, refused: str) -> None:
        if refused:
            text = word("refused", self._lang, job=job.id, why=visible(refused, 500))
            self.notify(text, severity="error", markup=False)
        else:
            self.notify(word("cancelled", self._lang, job=job.id), markup=False)


def _node_key(item: Any) -> str:
    return str(item.key if isinstance(item, Group) else item.name)


def _alert_key(alert: Any) -> str:
    return f"{alert.name} {alert.subject}"
