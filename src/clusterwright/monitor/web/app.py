"""Routes of the web page; they return data as JSON that the browser renders."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from clusterwright.errors import WrightError
from clusterwright.i18n import in_language
from clusterwright.monitor.web import pages
from clusterwright.monitor.web.actions import (
    ActionThreads,
    BusyError,
    ClusterActions,
    good_reason,
    may_cancel,
    may_serve,
)
from clusterwright.monitor.web.compact import Json, job_page, node_page, visible
from clusterwright.monitor.web.entry import SignIn
from clusterwright.monitor.web.feed import Feed, encoded
from clusterwright.monitor.web.guard import Guard, Guarded, Identity
from clusterwright.monitor.web.history import SPANS
from clusterwright.monitor.web.lists import JobQuery
from clusterwright.monitor.web.pages import preferences
from clusterwright.monitor.web.sessions import PasswordChecker
from clusterwright.monitor.web.stream import EventStream
from clusterwright.monitor.web.users import WebUser
from clusterwright.onhost.lib.safe_reader import parse_object

_IMMUTABLE = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Site:
    """The parts of the application; without `actions` the page is read-only."""

    feed: Feed
    guard: Guard
    passwords: PasswordChecker
    actions: ClusterActions | None = None


def application(site: Site) -> Guarded:
    """Return the ASGI application of the web page; while it runs, it takes snapshots of the cluster."""

    @asynccontextmanager
    async def gathering(_app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(site.feed.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    views, entry = Views(site), SignIn(site.guard, site.passwords)
    routes = [
        Route("/", views.index),
        Route("/sign-in", entry.sign_in, methods=["GET", "POST"]),
        Route("/sign-out", entry.sign_out, methods=["POST"]),
        Route("/static/{edition}/{name}", views.static),
        Route("/api/picture", views.picture),
        Route("/api/stream", EventStream(site.feed, site.guard), methods=["GET"]),
        Route("/api/me", views.me),
        Route("/api/jobs", views.jobs),
        Route("/api/job/{id:path}/cancel", views.cancel, methods=["POST"]),
        Route("/api/job/{id:path}", views.job),
        Route("/api/node/{name}/drain", views.drain, methods=["POST"]),
        Route("/api/node/{name}/resume", views.resume, methods=["POST"]),
        Route("/api/node/{name}", views.node),
        Route("/api/history", views.history),
    ]
    return Guarded(Starlette(routes=routes, lifespan=gathering), site.guard)


class Views:
    """The handlers of the routes, one method each."""

    def __init__(self, site: Site) -> None:
        self.site, self._threads = site, ActionThreads()

    async def index(self, request: Request) -> Response:
        """Return the HTML page of the web application."""
        feed = self.site.feed
        page = pages.index(
            visible(feed.snapshot.cluster), feed.summary(), *preferences(request.cookies, request.headers)
        )
        return HTMLResponse(page)

    async def static(self, request: Request) -> Response:
        """Return a static file; its URL changes with its content, so browsers keep it; 404 for another edition."""
        file = pages.statics().get(request.path_params["name"])
        if file is None or request.path_params["edition"] != pages.edition():
            return _missing()
        return _respond(request, file.content, file.packed, file.kind, _IMMUTABLE)

    async def picture(self, request: Request) -> Response:
        """Return the snapshot of the cluster as JSON, without jobs; the event stream sends later changes."""
        return _respond(request, *self.site.feed.document(), "application/json", "no-store")

    async def me(self, request: Request) -> Response:
        """Return the user (empty without sign-in), the role, and as `hands` whether the site permits actions.

        The token is not returned, because a cookie alone must not permit changes.
        """
        identity: Identity = request.state.who
        return JSONResponse(
            {
                "name": identity.user.name if identity.user else "",
                "role": identity.role,
                "hands": self.site.actions is not None,
            }
        )

    async def jobs(self, request: Request) -> Response:
        """Return the page of the job list that the query of the URL selects, as JSON."""
        return Response(
            self.site.feed.list(JobQuery.read(request.query_params)), media_type="application/json"
        )

    async def job(self, request: Request) -> Response:
        """Return one job, with its metrics over time and the actions that the user may take; 404 if there is none."""
        job = self.site.feed.job(request.path_params["id"])
        if job is None:
            return _missing()
        identity: Identity = request.state.who
        may = identity.user is not None and self.site.actions is not None and may_cancel(identity.user, job)
        return _json(
            job_page(job) | {"trail": self.site.feed.trails.series(job.id), "may": ["cancel"] if may else []}
        )

    async def node(self, request: Request) -> Response:
        """Return one node, with its jobs and the actions that the user may take; 404 if there is none.

        `resume` is offered for a drained or down node, else `drain`.
        """
        feed = self.site.feed
        node = feed.node(request.path_params["name"])
        if node is None:
            return _missing()
        identity: Identity = request.state.who
        may = identity.user is not None and self.site.actions is not None and may_serve(identity.user)
        offered = [] if not may else ["resume"] if node.drained or node.state == "down" else ["drain"]
        return _json(node_page(node) | {"may": offered})

    async def history(self, request: Request) -> Response:
        """Return the history of nodes, GPUs, jobs and alerts: times and means over the query's `span` (default: day).

        404 for an unknown span, or if there is no history.
        """
        span, history = request.query_params.get("span", "day"), self.site.feed.history
        if span not in SPANS or history is None:
            return _missing()
        return _json(await asyncio.to_thread(history.read, span))

    async def cancel(self, request: Request) -> Response:
        """Cancel a job, if the user may, and return the result; 404 if there is no such job, 403 if they may not."""
        job = self.site.feed.job(request.path_params["id"])
        user, actions = _user(request), self.site.actions
        if job is None:
            return _missing()
        if actions is None or user is None or not may_cancel(user, job):
            return _refused("role")
        return await self._run_action(request, user, partial(actions.cancel, job, user))

    async def drain(self, request: Request) -> Response:
        """Drain a node in Slurm, and respond with the result.

        404 if there is no such node, 403 if the user's role does not permit it, 422 without a valid `reason` in the
        body.
        """
        node = self.site.feed.node(request.path_params["name"])
        user, actions = _user(request), self.site.actions
        if node is None:
            return _missing()
        if actions is None or user is None or not may_serve(user):
            return _refused("role")
        reason = good_reason((await _body(request)).get("reason"))
        if reason is None:
            return JSONResponse({"error": "reason"}, 422)
        return await self._run_action(request, user, partial(actions.drain, node, reason, user))

    async def resume(self, request: Request) -> Response:
        """Resume a node, if the user may, and return the result; 404 if there is no such node, 403 if they may not."""
        node = self.site.feed.node(request.path_params["name"])
        user, actions = _user(request), self.site.actions
        if node is None:
            return _missing()
        if actions is None or user is None or not may_serve(user):
            return _refused("role")
        return await self._run_action(request, user, partial(actions.resume, node, user))

    async def _run_action(self, request: Request, user: WebUser, work: Callable[[], None]) -> Response:
        """Run an action in a thread and return its result; afterwards take a new snapshot soon.

        429 if no thread is free, 502 with the error in the request's language if the action fails.
        """
        try:
            with in_language(preferences(request.cookies, request.headers)[0]):
                await self._threads.run(user, work)
        except BusyError:
            return JSONResponse({"error": "busy"}, 429)
        except WrightError as error:
            finding = error.findings[0]
            return JSONResponse(
                {"error": "failed", "said": visible(f"{finding.message}; {finding.fix}")}, 502
            )
        self.site.feed.poll_soon()
        return JSONResponse({"done": True})


def _user(request: Request) -> WebUser | None:
    identity: Identity = request.state.who
    return identity.user


async def _body(request: Request) -> Mapping[str, object]:
    """Return the JSON object of the body, whose length the guard has limited; empty for anything else."""
    return parse_object(await request.body())


def _json(document: Json) -> Response:
    return Response(encoded(document), media_type="application/json")


def _missing() -> Response:
    return JSONResponse({"error": "missing"}, 404)


def _refused(reason: str) -> Response:
    return JSONResponse({"error": reason}, 403)


def _respond(request: Request, body: bytes, packed: bytes, kind: str, cache_control: str) -> Response:
    """Return a response with the body, or with `packed`, the same compressed, if the client accepts gzip.

    `kind` is the media type.
    """
    headers = {"cache-control": cache_control, "vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, media_type=kind, headers=headers | {"content-encoding": "gzip"})
    return Response(body, media_type=kind, headers=headers)
