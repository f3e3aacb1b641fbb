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
from clusterwright.monitor.gather.cache import EVERY_S, SnapshotCache
from clusterwright.monitor.snapshot import JobView, Snapshot, lacks
from clusterwright.monitor.snapshot.visible import visible
from clusterwright.monitor.top import columns, detail, groups
from clusterwright.monitor.top.columns import RenderOptions, heads
from clusterwright.monitor.top.groups import Group
from clusterwright.monitor.top.listing import Listing
from clusterwright.monitor.top.messages import Lang, translate
from clusterwright.monitor.top.queue import View
from clusterwright.monitor.top.screens import ConfirmScreen, TextScreen, keys
from clusterwright.monitor.top.static_screen import folded

NARROW = 100  # columns under which one panel is shown at a time
PANELS = ("nodes", "jobs", "teams", "alerts")
R = TypeVar("R")


class JobActions(Protocol):
    """What may be done with a job from here; each returns lines for people, and raises WrightError."""

    user: str

    def cancel(self, job: JobView) -> str:
        """End it."""
        ...

    def output(self, job: JobView) -> str:
        """The end of what it printed."""
        ...

    def explain(self, job: JobView) -> str:
        """Why it waits or failed."""
        ...


@dataclass
class ViewState:
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
        *(Binding(str(index + 1), f"panel('{name}')", show=False) for index, name in enumerate(PANELS)),
        Binding("slash", "search", show=False),
        Binding("escape", "plain", show=False),
        Binding("s", "sort", show=False),
        Binding("S", "turn", show=False),
        Binding("f", "filter", show=False),
        Binding("u", "toggle_user", show=False),
        Binding("l,o", "about('output')", show=False),
        Binding("w", "about('why')", show=False),
        Binding("c,d", "cancel", show=False),
        Binding("r", "poll", show=False),
        Binding("question_mark,h", "help", show=False),
    ]

    def __init__(
        self, snapshot_cache: SnapshotCache, job_actions: JobActions, options: RenderOptions, host: str = ""
    ) -> None:
        super().__init__()
        self._snapshot_cache, self._job_actions, self._render_options, self._host = (
            snapshot_cache,
            job_actions,
            options,
            host,
        )
        self.view_state = ViewState()
        self.snapshot: Snapshot | None = None
        self.aside: list[threading.Thread] = []

    def compose(self) -> ComposeResult:
        """A headline, four lists, a line that says what is chosen, and a place to type a search."""
        yield Static(translate("asking", self._lang, host=self._host), id="head", markup=False)
        with Horizontal(id="upper"):
            yield self._listing("nodes", columns.NODES, columns.of_group, _node_key)
            with Vertical(id="beside"):
                yield self._listing("teams", columns.TEAMS, columns.of_team, lambda team: str(team.name))
                yield self._listing("alerts", columns.ALERTS, columns.of_alert, _alert_key)
        yield self._listing("jobs", columns.JOBS, columns.of_job, lambda job: str(job.id))
        yield Static("", id="foot", markup=False)
        yield Input(id="search", placeholder=translate("search", self._lang))

    @property
    def _lang(self) -> Lang:
        return self._render_options.lang

    def _listing(
        self,
        name: str,
        kinds: Sequence[columns.Column],
        cells: Callable[[Any, RenderOptions], columns.Cells],
        key: Callable[[Any], str],
    ) -> Listing:
        listing = Listing(kinds, lambda item: cells(item, self._render_options), key, id=name)
        listing.border_title = translate(name, self._lang)
        return listing

    def on_mount(self) -> None:
        """Ask at once, and then as often as may be asked."""
        self.query_one("#search").display = False
        self.action_panel("jobs")
        self.action_poll()
        self.set_interval(EVERY_S, self.action_poll)

    def on_resize(self, event: Resize) -> None:
        """One panel at a time where there is no room for four."""
        self.set_class(event.size.width < NARROW, "narrow")

    def action_poll(self) -> None:
        """A newer picture, if there may be one, and nobody looks already."""
        if not any(thread.name == "look" and thread.is_alive() for thread in self.aside):
            self._aside("look", self._snapshot_cache.newest, self._show_snapshot)

    def _aside(self, name: str, query: Callable[[], R], then: Callable[[R], object]) -> None:
        """Ask in a thread, and then go on here. Who leaves the screen does not wait for a host that hangs."""

        def work() -> None:
            result = query()
            with suppress(RuntimeError):  # the screen is gone
                self.call_from_thread(then, result)

        self.aside = [thread for thread in self.aside if thread.is_alive()]
        self.aside.append(threading.Thread(target=work, name=name, daemon=True))
        self.aside[-1].start()

    def _show_snapshot(self, snapshot: Snapshot | None) -> None:
        if snapshot is not None:
            self.snapshot, self._render_options = snapshot, replace(self._render_options, now=snapshot.taken)
        self.paint()

    def paint(self) -> None:
        """Everything that the picture changes."""
        self._paint_head()
        if self.snapshot is None:
            return
        lists: dict[str, tuple[Sequence[Any], Sequence[columns.Column]]] = {
            "nodes": (groups.rows(self.snapshot, self.view_state.opened), columns.NODES),
            "jobs": (self.view_state.view.select(self.snapshot.jobs), columns.JOBS),
            "teams": (self.snapshot.teams, columns.TEAMS), "alerts": (self.snapshot.alerts, columns.ALERTS),
        }  # fmt: skip
        for name, (items, kinds) in lists.items():
            self._list(name).fill(items, heads(kinds, self._lang))
        self._paint_foot(len(lists["jobs"][0]))

    def _paint_head(self) -> None:
        lines = (
            folded(columns.headline(self.snapshot, self._render_options), self.size.width - 2)
            if self.snapshot
            else []
        )
        if self.snapshot:
            missing = translate("missing", self._lang)
            lines += [
                Text(f"{missing}: {visible(lacks(item, self._lang))}", "magenta")
                for item in self.snapshot.missing
            ]
        if self._snapshot_cache.trouble:
            lines.append(Text(visible(str(self._snapshot_cache.trouble)), "bold red"))
        if lines:
            self.query_one("#head", Static).update(Text("\n").join(lines))

    def _paint_foot(self, count: int) -> None:
        view, lang = self.view_state.view, self._lang
        parts = [
            translate("filter", lang, what=translate(view.job_filter, lang)),
            translate("sort", lang, by=translate(view.sort, lang)),
        ]
        parts += [translate("mine", lang)] if view.user else []
        parts += [translate("found", lang, text=visible(view.text, 40))] if view.text else []
        total = len(self.snapshot.jobs) if self.snapshot else 0
        self._list("jobs").border_title = f"{translate('jobs', lang)} {count}/{total}"
        self.query_one("#foot", Static).update("   ".join([*parts, "?: keys" if lang == "en" else "?: 按键"]))

    def _list(self, name: str) -> Listing:
        return self.query_one(f"#{name}", Listing)

    def action_panel(self, name: str) -> None:
        """That one has the keys."""
        for panel in PANELS:
            self.set_class(panel == name, f"on-{panel}")
        self._list(name).focus()

    def action_next(self, by: int) -> None:
        """The next panel."""
        now = next((index for index, name in enumerate(PANELS) if self._list(name).has_focus), 0)
        self.action_panel(PANELS[(now + by) % len(PANELS)])

    def on_listing_chosen(self, event: Listing.Chosen) -> None:
        """More about it; a group of nodes opens and closes."""
        if isinstance(event.item, Group):
            self.view_state.opened ^= {event.item.key}
            self.paint()
        elif self.snapshot:
            self.push_screen(
                TextScreen(detail.detail_lines(event.item, self.snapshot, self._render_options), self._lang)
            )

    def _set_view(self, view: View) -> None:
        self.view_state.view = view
        self._list("jobs").to_top()
        self.paint()

    def action_sort(self) -> None:
        """By the next column."""
        self._set_view(self.view_state.view.next_sort())

    def action_turn(self) -> None:
        """The other way around."""
        self._set_view(replace(self.view_state.view, turned=not self.view_state.view.turned))

    def action_filter(self) -> None:
        """All, those that run, those that wait."""
        self._set_view(self.view_state.view.next_filter())

    def action_toggle_user(self) -> None:
        """One person's jobs, or everybody's."""
        self._set_view(
            replace(self.view_state.view, user="" if self.view_state.view.user else self._job_actions.user)
        )

    def action_search(self) -> None:
        """A place to type."""
        box = self.query_one("#search", Input)
        box.display = True
        box.focus()

    def action_plain(self) -> None:
        """No search any more."""
        box = self.query_one("#search", Input)
        if box.display or self.view_state.view.text:
            box.value = ""
            self._close_search()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Jobs are found as one types."""
        self._set_view(replace(self.view_state.view, text=event.value))

    def on_input_submitted(self) -> None:
        """What was typed stays."""
        self._close_search()

    def _close_search(self) -> None:
        self.query_one("#search").display = False
        self.action_panel("jobs")

    def action_help(self) -> None:
        """The keys."""
        self.push_screen(TextScreen(keys(self._lang), self._lang))

    def _job(self) -> JobView | None:
        job = self._list("jobs").chosen if self._list("jobs").has_focus else None
        if job is None:
            self.notify(translate("no_job", self._lang), markup=False)
        return job

    def action_about(self, topic: str) -> None:
        """What it printed, or why it waits: asked of the cluster."""
        if job := self._job():
            self._aside("about", partial(self._fetch_text, topic, job), self._show_text)

    def _fetch_text(self, topic: str, job: JobView) -> str:
        try:
            return self._job_actions.output(job) if topic == "output" else self._job_actions.explain(job)
        except WrightError as error:
            return str(error)

    def _show_text(self, text: str) -> None:
        lines = [[(visible(line, 1000), "")] for line in text.splitlines() or ["-"]]
        self.push_screen(TextScreen(lines, self._lang))

    def action_cancel(self) -> None:
        """Asks, and then does it."""
        if job := self._job():
            question = translate(
                "cancel", self._lang, job=job.id, user=visible(job.user, 32), name=visible(job.name, 64)
            )
            self.push_screen(ConfirmScreen(question, self._lang), partial(self._agreed, job))

    def _agreed(self, job: JobView, yes: bool | None) -> None:  # noqa: FBT001 (what the question is answered with)
        if yes:
            self.notify(translate("cancelling", self._lang, job=job.id), markup=False)
            self._aside("cancel", partial(self._refused, job), partial(self._ended, job))

    def _refused(self, job: JobView) -> str:
        try:
            self._job_actions.cancel(job)
        except WrightError as error:
            return str(error)
        return ""

    def _ended(self, job: JobView, refused: str) -> None:
        if refused:
            text = translate("refused", self._lang, job=job.id, reason=visible(refused, 500))
            self.notify(text, severity="error", markup=False)
        else:
            self.notify(translate("cancelled", self._lang, job=job.id), markup=False)


def _node_key(item: Any) -> str:
    return str(item.key if isinstance(item, Group) else item.name)


def _alert_key(alert: Any) -> str:
    return f"{alert.name} {alert.subject}"
