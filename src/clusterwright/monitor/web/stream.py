"""Server-sent events: send a viewer the feed's messages, or disconnect it if it is too slow."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from clusterwright.monitor.web.feed import Feed, Viewer
from clusterwright.monitor.web.guard import Guard

ALIVE_S = 15.0  # between keep-alive comments for proxies and browsers, in seconds
SLOW_S = 10.0  # a viewer that does not read a change in this time is disconnected
_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")],
}


class EventStream:
    """The handler of the event stream."""

    def __init__(self, feed: Feed, guard: Guard) -> None:
        self._feed, self._guard = feed, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the viewer disconnects, is too slow, or may no longer view.

        503 if there are too many viewers.
        """
        request = Request(scope)
        user = self._guard.identify(request).user
        viewer = self._feed.join(_last_version(request), user.name if user else "")
        if viewer is None:
            await JSONResponse({"error": "full"}, 503, {"retry-after": "30"})(scope, receive, send)
            return
        disconnect_task = asyncio.create_task(_wait_for_disconnect(receive))
        try:
            await send(dict(_START))
            await self._send_messages(request, viewer, disconnect_task, send)
        finally:
            self._feed.disconnect(viewer)
            disconnect_task.cancel()

    async def _send_messages(
        self, request: Request, viewer: Viewer, disconnect_task: asyncio.Task[None], send: Send
    ) -> None:
        while not viewer.slow and self._guard.may_view(self._guard.identify(request)):
            taking = asyncio.create_task(viewer.queue.get())
            try:
                await asyncio.wait(
                    {taking, disconnect_task}, timeout=ALIVE_S, return_when=asyncio.FIRST_COMPLETED
                )
                if disconnect_task.done():
                    return
                message = taking.result() if taking.done() else b":\n\n"
            finally:
                taking.cancel()
            if not await _in_time(send, message, more=True):
                return
        await _in_time(send, b"", more=False)


async def _in_time(send: Send, message: bytes, *, more: bool) -> bool:
    """Send a message; return False if the viewer does not read it within SLOW_S."""
    try:
        async with asyncio.timeout(SLOW_S):
            await send({"type": "http.response.body", "body": message, "more_body": more})
    except TimeoutError:
        return False
    return True


async def _wait_for_disconnect(receive: Receive) -> None:
    """Wait until the viewer has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _last_version(request: Request) -> int | None:
    """Return the version that the viewer has, from `Last-Event-ID` or parameter `since`; None without a valid one."""
    text = request.headers.get("last-event-id") or request.query_params.get("since") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
