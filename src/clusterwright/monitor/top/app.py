"""The screen of `wright top`: nodes, jobs, teams and alerts side by side, or one at a time on a narrow terminal."""

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
from clusterwright.i18n import _
from clusterwright.monitor.gather.cache import EVERY_S, SnapshotCache
from clusterwright.monitor.snapshot import JobView, Snapshot
from clusterwright.monitor.snapshot.visible import visible
from clusterwright.monitor.top import columns, detail, groups
from clusterwright.monitor.top.columns import RenderOptions, heads
from clusterwright.monitor.top.groups import HostGroup
from clusterwright.monitor.top.listing import Listing
from clusterwright.monitor.top.messages import label
from clusterwright.monitor.top.queue import View
from clusterwright.monitor.top.screens import ConfirmScreen, TextScreen, keys
from clusterwright.monitor.top.static_screen import folded

NARROW = 100  # columns; narrower screens show one panel at a time
PANELS = ("nodes", "jobs", "teams", "alerts")
R = TypeVar("R")


class JobActions(Protocol):
    """Actions of the screen on a job; each method returns text for the user, or raises WrightError."""

    user: str

    def cancel(self, job: JobView) -> str:
        """Cancel the job through Slurm, and return a text for the user; raise WrightError if Slurm refuses."""
        ...

    def output(self, job: JobView) -> str:
        """Return the last lines of the job's output as text."""
        ...

    def explain(self, job: JobView) -> str:
        """Return a text that explains why the job is pending or failed."""
        ...


@dataclass
class ViewState:
    """The filter and order of the queue, and the opened groups of nodes."""

    view: View = field(default_factory=View)
    opened: set[str] = field(default_factory=set)


class Top(App[None]):
    """The application of `wright top`."""

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
        """Yield the headline, four lists, the line that describes the view, and the search field."""
        yield Static(_("querying {host} ...", host=self._host), id="head", markup=False)
        with Horizontal(id="upper"):
            yield self._listing("nodes", columns.NODES, columns.of_group, _node_key)
            with Vertical(id="beside"):
                yield self._listing("teams", columns.TEAMS, columns.of_team, lambda team: str(team.name))
                yield self._listing("alerts", columns.ALERTS, columns.of_alert, _alert_key)
        yield self._listing("jobs", columns.JOBS, columns.of_job, lambda job: str(job.id))
        yield Static("", id="foot", markup=False)
        yield Input(id="search", placeholder=_("search: id, user, team, name, state, host"))

    def _listing(
        self,
        name: str,
        kinds: Sequence[columns.Column],
        cells: Callable[[Any, RenderOptions], columns.Cells],
        key: Callable[[Any], str],
    ) -> Listing:
        listing = Listing(kinds, lambda item: cells(item, self._render_options), key, id=name)
        listing.border_title = label(name)
        return listing

    def on_mount(self) -> None:
        """Poll at once, then every EVERY_S seconds."""
        self.query_one("#search").display = False
        self.action_panel("jobs")
        self.action_poll()
        self.set_interval(EVERY_S, self.action_poll)

    def on_resize(self, event: Resize) -> None:
        """Show one panel at a time if the screen is less than NARROW characters wide, else all panels."""
        self.set_class(event.size.width < NARROW, "narrow")

    def action_poll(self) -> None:
        """Fetch a new snapshot in a thread, unless one is being fetched."""
        if not any(thread.name == "poll" and thread.is_alive() for thread in self.aside):
            self._aside("poll", self._snapshot_cache.newest, self._show_snapshot)

    def _aside(self, name: str, query: Callable[[], R], then: Callable[[R], object]) -> None:
        """Run `query` in a daemon thread, then `then` in the app: quitting does not wait for a host that hangs."""

        def work() -> None:
            result = query()
            with suppress(RuntimeError):  # the app has ended
                self.call_from_thread(then, result)

        self.aside = [thread for thread in self.aside if thread.is_alive()]
        self.aside.append(threading.Thread(target=work, name=name, daemon=True))
        self.aside[-1].start()

    def _show_snapshot(self, snapshot: Snapshot | None) -> None:
        if snapshot is not None:
            self.snapshot, self._render_options = snapshot, replace(self._render_options, now=snapshot.taken)
        self.paint()

    def paint(self) -> None:
        """Show the current snapshot in all panels; before the first one, only the head."""
        self._paint_head()
        if self.snapshot is None:
            return
        lists: dict[str, tuple[Sequence[Any], Sequence[columns.Column]]] = {
            "nodes": (groups.rows(self.snapshot, self.view_state.opened), columns.NODES),
            "jobs": (self.view_state.view.select(self.snapshot.jobs), columns.JOBS),
            "teams": (self.snapshot.teams, columns.TEAMS), "alerts": (self.snapshot.alerts, columns.ALERTS),
        }  # fmt: skip
        for name, (items, kinds) in lists.items():
            self._list(name).fill(items, heads(kinds))
        self._paint_foot(len(lists["jobs"][0]))

    def _paint_head(self) -> None:
        lines = folded(columns.headline(self.snapshot), self.size.width - 2) if self.snapshot else []
        if self.snapshot:
            lines += [Text(columns.missing(item), "magenta") for item in self.snapshot.missing]
        if self._snapshot_cache.trouble:
            lines.append(Text(visible(str(self._snapshot_cache.trouble)), "bold red"))
        if lines:
            self.query_one("#head", Static).update(Text("\n").join(lines))

    def _paint_foot(self, count: int) -> None:
        view = self.view_state.view
        parts = [
            _("shown: {filter}", filter=label(view.job_filter)),
            _("sorted by {column}", column=label(view.sort)),
        ]
        parts += [_("only mine")] if view.user else []
        parts += [f"`{visible(view.text, 40)}`"] if view.text else []
        total = len(self.snapshot.jobs) if self.snapshot else 0
        self._list("jobs").border_title = f"{label('jobs')} {count}/{total}"
        self.query_one("#foot", Static).update("   ".join([*parts, _("?: keys")]))

    def _list(self, name: str) -> Listing:
        return self.query_one(f"#{name}", Listing)

    def action_panel(self, name: str) -> None:
        """Move the focus to the panel `name`; a narrow screen then shows only this one."""
        for panel in PANELS:
            self.set_class(panel == name, f"on-{panel}")
        self._list(name).focus()

    def action_next(self, by: int) -> None:
        """Move the focus by that many panels, also backward, and around at the ends; from the first if none has it."""
        now = next((index for index, name in enumerate(PANELS) if self._list(name).has_focus), 0)
        self.action_panel(PANELS[(now + by) % len(PANELS)])

    def on_listing_chosen(self, event: Listing.Chosen) -> None:
        """Open or close a group of nodes; for any other row show details on a screen of their own."""
        if isinstance(event.item, HostGroup):
            self.view_state.opened ^= {event.item.key}
            self.paint()
        elif self.snapshot:
            self.push_screen(TextScreen(detail.detail_lines(event.item, self.snapshot, self._render_options)))

    def _set_view(self, view: View) -> None:
        self.view_state.view = view
        self._list("jobs").to_top()
        self.paint()

    def action_sort(self) -> None:
        """Sort the jobs by the next column."""
        self._set_view(self.view_state.view.next_sort())

    def action_turn(self) -> None:
        """Reverse the order of the jobs."""
        self._set_view(replace(self.view_state.view, turned=not self.view_state.view.turned))

    def action_filter(self) -> None:
        """Show the next set of jobs: all, running, or pending."""
        self._set_view(self.view_state.view.next_filter())

    def action_toggle_user(self) -> None:
        """Switch between the user's own jobs and all jobs."""
        self._set_view(
            replace(self.view_state.view, user="" if self.view_state.view.user else self._job_actions.user)
        )

    def action_search(self) -> None:
        """Show the search field for jobs, and move the focus to it."""
        box = self.query_one("#search", Input)
        box.display = True
        box.focus()

    def action_plain(self) -> None:
        """End the search and close its field; no effect without a search."""
        box = self.query_one("#search", Input)
        if box.display or self.view_state.view.text:
            box.value = ""
            self._close_search()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter jobs while the user types."""
        self._set_view(replace(self.view_state.view, text=event.value))

    def on_input_submitted(self) -> None:
        """Apply the search and close its field."""
        self._close_search()

    def _close_search(self) -> None:
        self.query_one("#search").display = False
        self.action_panel("jobs")

    def action_help(self) -> None:
        """Show the keys of the screen."""
        self.push_screen(TextScreen(keys()))

    def _job(self) -> JobView | None:
        job = self._list("jobs").chosen if self._list("jobs").has_focus else None
        if job is None:
            self.notify(_("select a job first"), markup=False)
        return job

    def action_about(self, topic: str) -> None:
        """Fetch and show a text about the selected job: by `topic` its output, or why it is pending or failed.

        No effect without a selected job.
        """
        if job := self._job():
            self._aside("about", partial(self._fetch_text, topic, job), self._show_text)

    def _fetch_text(self, topic: str, job: JobView) -> str:
        try:
            return self._job_actions.output(job) if topic == "output" else self._job_actions.explain(job)
        except WrightError as error:
            return str(error)

    def _show_text(self, text: str) -> None:
        lines = [[(visible(line, 1000), "")] for line in text.splitlines() or ["-"]]
        self.push_screen(TextScreen(lines))

    def action_cancel(self) -> None:
        """Ask whether to cancel the selected job, and cancel it if the user agrees; nothing if none is selected."""
        if job := self._job():
            question = _(
                "Cancel job {job} of {user} ({name})?",
                job=job.id,
                user=visible(job.user, 32),
                name=visible(job.name, 64),
            )
            self.push_screen(ConfirmScreen(question), partial(self._agreed, job))

    def _agreed(self, job: JobView, yes: bool | None) -> None:  # noqa: FBT001 (the answer)
        if yes:
            self.notify(_("canceling job {job} ...", job=job.id), markup=False)
            self._aside("cancel", partial(self._refused, job), partial(self._ended, job))

    def _refused(self, job: JobView) -> str:
        try:
            self._job_actions.cancel(job)
        except WrightError as error:
            return str(error)
        return ""

    def _ended(self, job: JobView, refused: str) -> None:
        if refused:
            text = _("job {job} is not canceled: {reason}", job=job.id, reason=visible(refused, 500))
            self.notify(text, severity="error", markup=False)
        else:
            self.notify(_("job {job} is canceled", job=job.id), markup=False)


def _node_key(item: Any) -> str:
    return str(item.key if isinstance(item, HostGroup) else item.name)


def _alert_key(alert: Any) -> str:
    return f"{alert.name} {alert.subject}"
