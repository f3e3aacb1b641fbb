"""A page to be asked, with a picture that tests change, and hands that only write down what they would do."""

import dataclasses
import re
import threading
from contextlib import contextmanager

import httpx
import pytest
import uvicorn
from starlette.testclient import TestClient

from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.monitor.web.actions import ClusterActions
from clusterwright.monitor.web.app import Site, application
from clusterwright.monitor.web.feed import Feed
from clusterwright.monitor.web.guard import Guard
from clusterwright.monitor.web.history import History
from clusterwright.monitor.web.serve import Listener, bound
from clusterwright.monitor.web.sessions import PasswordChecker, Sessions
from clusterwright.monitor.web.users import Users, create_user

PASSWORD = "correct horse battery"


class Page:
    """A page and everything behind it; `picture` is what the next asking finds."""

    def __init__(self, folder, picture, *, tls=False, open_to_all=True, every_s=0.2):
        self.picture, self.asked, self.trouble = picture, 0, None
        self.clock, self.remote = FakeClock(), FakeRemote(lambda *_: "")
        self.users = Users(folder / "users.json")
        self.journal = folder / "acts.jsonl"
        self.history = History(folder / "history.sqlite", self.clock)
        self.feed = Feed(picture.cluster, self._gathered, history=self.history, every_s=every_s)
        self.guard = Guard(Sessions(self.users, self.clock), tls=tls, open_to_all=open_to_all)
        self.door = PasswordChecker(self.users, self.clock)
        hands = ClusterActions(self.remote, "control", "/shared/runs", self.journal, self.clock)
        self.app = application(Site(self.feed, self.guard, self.door, hands))

    def _gathered(self):
        self.asked += 1
        if self.trouble:
            raise self.trouble
        return self.picture

    def change(self, **parts):
        """The next picture differs in these parts."""
        self.picture = dataclasses.replace(self.picture, taken=self.picture.taken + 1, **parts)


class Browser:
    """What a browser does to sign in and to act, and nothing that it would not."""

    def __init__(self, client):
        self.client, self.token = client, ""

    def sign_in(self, name, password=PASSWORD, **headers):
        """The answer to the form."""
        form = self.client.get("/sign-in")
        token = re.search(r'name="token" value="([^"]+)"', form.text)[1]
        answer = self.client.post(
            "/sign-in", data={"token": token, "name": name, "password": password}, headers=headers,
            follow_redirects=False,
        )  # fmt: skip
        self.token = answer.headers.get("location", "").partition("#token=")[2] or self.token
        self.client.headers["x-wright-token"] = self.token  # as store.js does
        return answer

    def act(self, path, body=None, token=None, **headers):
        """A change, with the page's token unless another is given."""
        given = self.token if token is None else token
        return self.client.post(path, json=body or {}, headers={"x-wright-token": given, **headers})


@pytest.fixture
def page(tmp_path, small):
    """A page of the small picture, open to all as on loopback."""
    made_page = Page(tmp_path, small)
    yield made_page
    made_page.history.close()


@pytest.fixture(scope="session")
def small(recorded):
    """A hundred nodes and three hundred jobs, with hostile names among them."""
    return recorded.made_picture(100, 300)


@pytest.fixture
def page_of():
    """`page_of(folder, picture, ...)` for tests that need another page."""
    return Page


@pytest.fixture
def client(page):
    """Asks the page as a browser on this machine does."""
    with TestClient(page.app, base_url="http://localhost") as opened:
        opened.portal.call(page.feed.poll)
        yield opened


@pytest.fixture
def browser(client):
    """A browser that has not signed in."""
    return Browser(client)


@pytest.fixture
def browser_of():
    """`browser_of(client)`."""
    return Browser


@pytest.fixture
def signed_in(page, browser, small):
    """`signed_in(role)`: a browser whose user has that role; a `user` is the owner of the first job."""

    def enter(role):
        name = small.jobs[0].user if role == "user" else f"{role}1"
        page.users.set_user(create_user(name, role, PASSWORD))
        assert browser.sign_in(name).status_code == 303
        return browser

    return enter


@contextmanager
def _served(page, listener=None):
    listener = listener or Listener(port=0)
    opened = bound(listener)
    config = uvicorn.Config(
        page.app, log_level="error", access_log=False, lifespan="on", timeout_graceful_shutdown=1,
        ssl_certfile=listener.tls_cert, ssl_keyfile=listener.tls_key,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
    thread.start()
    try:
        yield listener.url(opened.getsockname()[1]).removesuffix("/")
    finally:
        server.should_exit = True
        thread.join(20)
        opened.close()


@pytest.fixture
def served():
    """Listens for real, within a `with`, and gives the address."""
    return _served


@pytest.fixture
def asking():
    """An HTTP client for what is served."""
    with httpx.Client(timeout=20) as opened:
        yield opened
