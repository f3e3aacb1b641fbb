"""The stream on a real socket: one gatherer for all, changes in order, and nobody who is slow is waited for."""

import asyncio
import json
import socket
import threading
import time

import pytest

from clusterwright.errors import WrightError
from clusterwright.monitor.snapshot import Alert
from clusterwright.monitor.web import feed as feeds
from clusterwright.monitor.web import stream as streams
from clusterwright.monitor.web.users import create_user


def events(lines):
    """Server-sent events of lines, as browsers read them: (name, id, document)."""
    name, number = "", ""
    for line in lines:
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("id: "):
            number = line[4:]
        elif line.startswith("data: "):
            yield name, int(number), json.loads(line[6:])


def until(condition, seconds=20):
    """Wait for it; a loaded machine takes its time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_change_reaches_all_who_look_and_is_asked_for_once(page, served, asking):
    """Three viewers are sent the same bytes; the cluster is asked at its own pace, not once for each."""
    with served(page) as url, asking.stream("GET", f"{url}/api/stream") as one:
        heard = events(one.iter_lines())
        assert next(heard)[0] == "whole"
        with (
            asking.stream("GET", f"{url}/api/stream") as two,
            asking.stream("GET", f"{url}/api/stream") as three,
        ):
            others = [events(each.iter_lines()) for each in (two, three)]
            assert [next(each)[0] for each in others] == ["whole", "whole"]
            until(lambda: page.feed.viewers == 3)
            page.change(alerts=(Alert("A", "info", "n", 1.0, "new"),))

            seen = [
                next(event for event in each if len(event[2].get("alerts", ())) == 1)
                for each in (heard, *others)
            ]
            assert seen[0] == seen[1] == seen[2]
            assert [alert["summary"] for alert in seen[0][2]["alerts"]] == ["new"]
            asked, start = page.asked, time.monotonic()
            time.sleep(1)
            assert page.asked - asked <= (time.monotonic() - start) / 0.2 + 2


def test_who_comes_back_is_sent_what_was_missed(page, served, asking):
    """By the number of the last event; one that is too old, or of another life of the server, gets everything."""
    with served(page) as url, asking.stream("GET", f"{url}/api/stream") as first_one:
        looked = first_one.iter_lines()
        next(looked)  # somebody looks, so the cluster is asked often
        until(lambda: page.feed.version >= 4)
        version = page.feed.version
        for since, first in (
            (version, "change"),
            (version - 1, "change"),
            (0, "whole"),
            (10**9, "whole"),
            ("x", "whole"),
        ):
            with asking.stream("GET", f"{url}/api/stream", headers={"last-event-id": str(since)}) as answer:
                name, number, _ = next(events(answer.iter_lines()))
                assert name == first
                assert name == "whole" or number == since + 1


def test_who_goes_is_forgotten(page, served, asking):
    """Nothing is kept for a viewer who has closed the page."""
    with served(page) as url:
        with asking.stream("GET", f"{url}/api/stream") as answer:
            lines = answer.iter_lines()
            next(lines)
            until(lambda: page.feed.viewers == 1)
        until(lambda: page.feed.viewers == 0)

        assert page.feed.viewers == 0


def test_who_does_not_read_is_let_go(page, served, asking, monkeypatch, recorded):
    """A viewer whose connection takes nothing costs a few changes, not memory without end; the others go on."""
    monkeypatch.setattr(streams, "SLOW_S", 0.5)
    page.picture = recorded.made_picture(1000, 10)
    with served(page) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.sendall(b"GET /api/stream HTTP/1.1\r\nhost: localhost\r\n\r\n")
            until(lambda: page.feed.viewers == 1)
            with asking.stream("GET", f"{url}/api/stream") as reader:
                lines = reader.iter_lines()

                def changing():
                    for number in range(200):
                        if page.feed.viewers < 2 and number > 5:
                            return
                        page.picture = recorded.made_picture(1000, 10, seed=number)
                        time.sleep(0.1)

                thread = threading.Thread(target=changing)
                thread.start()
                until(lambda: next(lines) is not None and page.feed.viewers == 1, 60)
                thread.join()

                assert page.feed.viewers == 1


def test_a_viewer_that_is_behind_is_marked_and_not_buffered():
    """At most a few changes are put by for one."""
    viewer = feeds.Viewer()
    for _ in range(1000):
        viewer.enqueue(b"x")

    assert viewer.slow
    assert viewer.queue.qsize() <= 4


def test_there_is_room_for_so_many(page, monkeypatch, client):
    """The next one is told to come later."""
    monkeypatch.setattr(feeds, "MOST_VIEWERS", 0)
    answer = client.get("/api/stream")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")


def test_one_viewer_leaves_places_for_others(page):
    """An account has some streams; viewers without sign-in leave some to those who sign in."""
    assert sum(page.feed.join(None, "ann") is not None for _ in range(600)) == feeds.MOST_OF_ACCOUNT
    assert page.feed.join(None, "bob") is not None
    assert sum(page.feed.join(None) is not None for _ in range(600)) == feeds.MOST_ANONYMOUS
    assert page.feed.join(None, "carol") is not None


def test_the_stream_of_one_who_is_taken_out_ends(page_of, browser_of, served, asking, tmp_path, small):
    """Where looking needs a sign-in, an open stream does not outlive it."""
    page = page_of(tmp_path, small, open_to_all=False)
    page.users.set_user(create_user("ann", "viewer", "correct horse battery"))
    with served(page) as url:
        asking.base_url = url
        browser_of(asking).sign_in("ann")
        with asking.stream("GET", "/api/stream") as answer:
            lines = answer.iter_lines()
            next(lines)
            page.users.remove("ann")
            assert all(line == "" or line.startswith(("event", "id", "data")) for line in lines)  # to its end
        assert asking.get("/api/stream").status_code == 401
    page.history.close()


@pytest.mark.parametrize("trouble", [
    WrightError.from_code("unreachable", "control was not reached: \x1b[31mtimed out", "try ssh"),
    OSError("no ssh here"), ValueError("not JSON: <b>"), KeyError("a field of a newer Slurm"),
])  # fmt: skip
def test_a_cluster_that_does_not_answer_is_said_and_its_last_picture_stays(page, trouble):
    """The page goes on with what was seen last, and says since when."""

    async def twice():
        await page.feed.poll()
        page.trouble = trouble
        await page.feed.poll()
        return json.loads(page.feed.document()[0])

    document = asyncio.run(twice())
    assert len(document["nodes"]) == 100
    assert document["trouble"]
    assert document["trouble"].isprintable()
    assert document["taken"] == page.picture.taken


def test_a_picture_that_never_came_is_said(page):
    """Before the first one the page stands, empty, and says what is wrong."""
    page.trouble = OSError("no route")
    asyncio.run(page.feed.poll())
    document = json.loads(page.feed.document()[0])

    assert (document["nodes"], document["taken"], document["trouble"]) == ([], 0.0, "OSError: no route")


def test_a_history_that_cannot_be_written_is_said(page):
    """A full disk loses moments, and nothing else."""
    page.history.trouble = "history.sqlite: disk is full"
    page.history.add = lambda _: None
    asyncio.run(page.feed.poll())

    missing = json.loads(page.feed.document()[0])["missing"]
    assert [line["en"] for line in missing] == ["history.sqlite: disk is full"]
