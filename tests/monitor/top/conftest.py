"""The screen in a terminal of any size, without one: what is on it as text."""

import asyncio
import re
import time

import pytest

from clusterwright.edge.fakes import FakeClock
from clusterwright.errors import WrightError
from clusterwright.i18n import current_language, set_language
from clusterwright.monitor.gather import SnapshotCache
from clusterwright.monitor.top.app import Top
from clusterwright.monitor.top.columns import RenderOptions


class Acts:
    """Keeps what was asked of it; refuses jobs of `refused`."""

    user = "vision1"

    def __init__(self):
        self.done, self.refused = [], set()

    def cancel(self, job):
        """As Slurm would."""
        if job.id in self.refused:
            raise WrightError.from_code("slurm-said", "scancel: Access/permission denied", "ask its user")
        self.done.append(job.id)

    def output(self, job):
        """With what would act on a terminal."""
        return f"step 1 of {job.id}\x1b[2J\nlast line"

    def explain(self, job):
        """One line."""
        return f"{job.id}: the reason"


class Stage:
    """A screen, its keys, and what it shows."""

    def __init__(self, app, pilot, acts, clock):
        self.app, self._pilot, self.acts, self.clock = app, pilot, acts, clock

    async def press(self, *keys):
        """One after another, each with all that follows from it."""
        for key in keys:
            await self._pilot.press(key)
            await self.settle()

    async def settle(self):
        """Nothing is left to do."""
        for _ in range(3):
            for thread in self.app.aside:
                await asyncio.to_thread(thread.join, 30)
            await self._pilot.pause()

    async def until(self, words):
        """They come onto the screen, in whatever time that takes here."""
        end = time.monotonic() + 30
        while words not in self.text:
            assert time.monotonic() < end, self.text
            await self._pilot.pause(0.05)

    @property
    def text(self):
        """The screen's lines."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)

    def jobs(self):
        """Ids of the jobs that are seen."""
        return re.findall(r"^│(\d{6}\S*)", self.text, re.MULTILINE)

    def list(self, name):
        """One of the four lists."""
        return self.app.query_one(f"#{name}")


@pytest.fixture
def on_stage():
    """`on_stage(script, picture, size=..., lang=...)` runs an async function of the stage."""

    def run(script, picture, *, size=(150, 45), lang="en", ascii_only=False):
        acts, clock = Acts(), FakeClock()
        answer = picture if callable(picture) else lambda: picture

        async def play():
            app = Top(SnapshotCache(answer, clock), acts, RenderOptions(ascii_only=ascii_only), "control")
            async with app.run_test(size=size, notifications=True) as pilot:
                stage = Stage(app, pilot, acts, clock)
                await stage.settle()
                await script(stage)
            assert app.return_code in (0, None)

        language = current_language()
        set_language(lang)  # of its threads as well
        try:
            asyncio.run(play())
        finally:
            set_language(language)

    return run
