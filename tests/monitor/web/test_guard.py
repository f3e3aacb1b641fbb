"""Who may see and do what; what a stranger's page, a guesser and a careless listener cannot."""

import asyncio
import json
import threading

import pytest
from starlette.testclient import TestClient

from clusterwright.edge.bundler import program_command
from clusterwright.monitor.web import entry, guard, sessions
from clusterwright.monitor.web.actions import AT_ONCE, FOR_OPERATORS, ActionThreads, BusyError
from clusterwright.monitor.web.users import create_user

HERE = "http://localhost"


def test_looking_needs_no_sign_in_on_loopback(client):
    """The picture is there, and nothing can be done to it."""
    assert client.get("/api/picture").json()["cluster"] == "recorded"
    assert client.get("/api/me").json() == {"name": "", "role": "viewer", "hands": True}


def test_off_loopback_nothing_is_seen_without_signing_in(page_of, tmp_path, small):
    """Pages lead to the form, data is refused, the stream too; the form and its style are there."""
    page = page_of(tmp_path, small, open_to_all=False)
    with TestClient(page.app, base_url=HERE) as client:
        paths = ("/api/picture", "/api/jobs", "/api/stream", "/api/history", "/api/me", "/api/node/h100-0001")
        refused = {path: client.get(path).status_code for path in paths}
        led = client.get("/", follow_redirects=False)
        form = client.get("/sign-in").text

        assert set(refused.values()) == {401}
        assert (led.status_code, led.headers["location"]) == (303, "/sign-in")
        assert small.nodes[0].name not in form
    page.history.close()


def test_another_sites_name_for_loopback_is_refused(client):
    """A page of a stranger's whose name points at 127.0.0.1 cannot read ours."""
    wanted = {"evil.example": 421, "localhost:8080": 200, "127.0.0.1:9": 200, "[::1]:8080": 200,
              "localhost.evil.example": 421}  # fmt: skip

    for host, code in wanted.items():
        assert client.get("/api/picture", headers={"host": host}).status_code == code, host


def test_every_answer_forbids_foreign_and_inline_script(client):
    """Pages, data and refusals alike; nothing is kept by others, and nothing frames the page."""
    for path in ("/", "/sign-in", "/api/picture", "/nowhere"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_the_cookie_is_kept_from_scripts_and_other_sites(page, browser):
    """HttpOnly and SameSite=Strict; a new one at each sign-in."""
    page.users.set_user(create_user("ann", "viewer", "correct horse battery"))
    first, second = (browser.sign_in("ann").headers["set-cookie"] for _ in range(2))

    assert first.startswith("wright=")
    assert "HttpOnly" in first
    assert "SameSite=strict" in first
    assert first.split(";")[0] != second.split(";")[0]


def test_with_tls_the_cookie_is_bound_to_this_host(page_of, browser_of, tmp_path, small):
    """`__Host-` and Secure."""
    page = page_of(tmp_path, small, tls=True, open_to_all=False)
    page.users.set_user(create_user("ann", "viewer", "correct horse battery"))
    with TestClient(page.app, base_url="https://cluster.example") as client:
        cookie = browser_of(client).sign_in("ann").headers["set-cookie"]

        assert cookie.startswith("__Host-wright=")
        assert "Secure" in cookie
        assert client.get("/api/picture").status_code == 200
    page.history.close()


@pytest.mark.parametrize("changed", [
    {"token": ""}, {"token": "guess"}, {"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"}, {"origin": "null"},
])  # fmt: skip
def test_a_change_from_elsewhere_is_refused(signed_in, page, small, changed):
    """Without the page's token, or from another origin: refused though the cookie is right, and nothing is done."""
    operator = signed_in("operator")
    answer = operator.act(f"/api/job/{small.jobs[0].id}/cancel", **changed)

    assert answer.status_code == 403
    assert page.remote.calls == []


def test_a_sign_in_from_elsewhere_is_refused(page, browser):
    """Another site can neither send the form for somebody nor do it without the form's own token."""
    page.users.set_user(create_user("ann", "viewer", "correct horse battery"))
    data = {"name": "ann", "password": "correct horse battery", "token": "x"}

    assert browser.client.post("/sign-in", data=data).status_code == 403
    assert browser.sign_in("ann", origin="http://evil.example").status_code == 403
    assert browser.sign_in("ann").status_code == 303


def test_a_change_without_a_session_is_refused(browser, page, small):
    """One who only looks has no token that would do."""
    for path in (f"/api/job/{small.jobs[0].id}/cancel", "/api/node/h100-0001/drain", "/sign-out"):
        assert browser.act(path).status_code == 401
    assert page.remote.calls == []


ALLOWED = {
    "viewer": {"own": 403, "other": 403, "drain": 403, "resume": 403},
    "user": {"own": 200, "other": 403, "drain": 403, "resume": 403},
    "operator": {"own": 200, "other": 200, "drain": 200, "resume": 200},
}


@pytest.mark.parametrize("role", ALLOWED)
def test_each_role_may_do_its_own(signed_in, page, small, role):
    """A user their own jobs; an operator any job, and nodes. What is refused is not done."""
    one = signed_in(role)
    own = small.jobs[0]
    other = next(job for job in small.jobs if job.user != own.user)
    well = next(node.name for node in small.nodes if node.state == "allocated" and not node.drained)
    out = next(node.name for node in small.nodes if node.drained)
    done = {
        "own": one.act(f"/api/job/{own.id}/cancel").status_code,
        "other": one.act(f"/api/job/{other.id}/cancel").status_code,
        "drain": one.act(f"/api/node/{well}/drain", {"reason": "a fan is loud"}).status_code,
        "resume": one.act(f"/api/node/{out}/resume").status_code,
    }

    assert done == ALLOWED[role]
    assert len(page.remote.calls) == list(done.values()).count(200)


def test_what_one_may_do_is_offered_to_them_alone(signed_in, client, small):
    """The page shows no button that would be refused."""
    job = f"/api/job/{small.jobs[0].id}"
    assert client.get(job).json()["may"] == []

    signed_in("user")
    other = next(each for each in small.jobs if each.user != small.jobs[0].user)
    assert client.get(job).json()["may"] == ["cancel"]
    assert client.get(f"/api/job/{other.id}").json()["may"] == []


def test_signing_out_ends_the_session(signed_in, client):
    """The cookie opens nothing any more, even if it was kept."""
    operator = signed_in("operator")
    kept = client.cookies["wright"]
    assert operator.act("/sign-out").status_code == 204

    client.cookies.set("wright", kept)
    assert client.get("/api/me").json()["name"] == ""


def test_a_removed_user_and_a_new_password_end_sessions(signed_in, page, client):
    """At the next request, not at the next sign-in; a new role counts at once."""
    signed_in("operator")
    page.users.set_user(create_user("operator1", "viewer", "another password"))
    assert client.get("/api/me").json()["name"] == ""

    signed_in("operator")
    assert client.get("/api/me").json()["role"] == "operator"
    page.users.remove("operator1")
    assert client.get("/api/me").json()["name"] == ""


def test_a_session_that_is_not_used_ends(signed_in, page, client):
    """After four hours; one that is used after a day."""
    signed_in("operator")
    page.clock.sleep(3 * 3600)
    assert client.get("/api/me").json()["name"] == "operator1"

    page.clock.sleep(5 * 3600)
    assert client.get("/api/me").json()["name"] == ""


def test_guessing_becomes_slow(page, browser):
    """Five wrong tries are free; then a wait that doubles, which the right password does not shorten."""
    page.users.set_user(create_user("ann", "operator", "correct horse battery"))
    tries = [browser.sign_in("ann", f"wrong password {number}").status_code for number in range(7)]
    assert tries == [403] * 5 + [429] * 2

    held = browser.sign_in("ann")
    assert held.status_code == 429
    assert int(held.headers["retry-after"]) >= 1
    page.clock.sleep(3)
    assert browser.sign_in("ann").status_code == 303


def test_guessing_names_becomes_slow_too(browser):
    """From one address, whatever names are tried; the answer is the same for a name that nobody has."""
    tries = [browser.sign_in(f"name{number}", "wrong password").status_code for number in range(7)]

    assert tries == [403] * 5 + [429] * 2


@pytest.fixture
def door(page):
    """The door of a page with two users."""
    for name in ("ann", "bob"):
        page.users.set_user(create_user(name, "operator", "correct horse battery"))
    return page.door


def guess(door, address, *names, times=1):
    """Wrong passwords, those that are let through."""
    for name in names * times:
        if not door.wait_s(name, address):
            door.opens(name, "wrong password", address)


def test_one_address_locks_nobody_out_elsewhere(door):
    """Whoever guesses the password of an account delays that account for the guesser alone."""
    guess(door, "10.0.0.66", "ann", times=20)

    assert door.wait_s("ann", "10.0.0.66") > 0
    assert door.wait_s("ann", "10.0.0.1") == 0


def test_one_account_locks_no_other_out_at_the_same_address(page, door, browser):
    """All who come through one tunnel have one address; a right password gets in, a wrong one is told to wait."""
    guess(door, "testclient", "mallory", *(f"name{number}" for number in range(9)))

    assert browser.sign_in("bob", "wrong password").status_code == 429
    assert browser.sign_in("nobody", "wrong password").status_code == 429
    assert browser.sign_in("bob").status_code == 303


def test_attempts_on_many_names_do_not_reset_the_count_of_one(door, monkeypatch):
    """The table is full; the counts that are low go first."""
    monkeypatch.setattr(sessions, "_MOST_WATCHED", 8)
    guess(door, "10.0.0.66", "ann", times=6)
    guess(door, "10.0.0.66", *(f"name{number}" for number in range(20)))

    assert door.wait_s("ann", "10.0.0.66") > 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
    ],
)
def test_an_address_is_what_one_host_can_have(one, other, same):
    """A host picks any address of its /64."""
    assert (sessions.network(one) == sessions.network(other)) is same


def test_one_who_signs_in_often_ends_no_other_session(page, door):
    """The oldest session of the same account ends."""
    ann, bob = (page.users.all()[name] for name in ("ann", "bob"))
    (mine, _), (old, _) = page.guard.sessions.begin(bob), page.guard.sessions.begin(ann)
    page.clock.sleep(1)
    for _ in range(sessions.MOST + 1):
        page.guard.sessions.begin(ann)

    assert page.guard.sessions.find(mine) is not None
    assert page.guard.sessions.find(old) is None


def test_no_address_takes_all_places_of_those_who_wait():
    """Nor one account more than two of them; places are free again after."""
    waiting = entry.Waiting()
    taken = [waiting.enter(f"name{number}", "10.0.0.66") for number in range(50)]

    assert sum(taken) < 50
    assert waiting.enter("ann", "10.0.0.1")
    assert [waiting.enter("bob", "10.0.0.2") for _ in range(3)] == [True, True, False]
    waiting.leave("bob", "10.0.0.2")
    assert waiting.enter("bob", "10.0.0.2")


def test_a_body_that_is_too_long_or_of_no_length_is_refused(signed_in, page, client):
    """Before it is read."""
    token = {"x-wright-token": signed_in("operator").token}
    long = client.post("/api/node/h100-0001/drain", content=b"x" * 9000, headers=token)
    endless = client.post("/api/node/h100-0001/drain", content=iter([b"{}"]), headers=token)

    assert (long.status_code, endless.status_code) == (413, 413)
    assert page.remote.calls == []


@pytest.mark.parametrize(
    "reason", ["", "   ", "two\nlines", "x" * 121, "\x1b[31mred", "turn\u202ed", 7, None]
)
def test_a_drain_needs_a_readable_reason(signed_in, page, small, reason):
    """On one line, with signs that show."""
    well = next(node.name for node in small.nodes if not node.drained)
    answer = signed_in("operator").act(f"/api/node/{well}/drain", {"reason": reason})

    assert (answer.status_code, answer.json()) == (422, {"error": "reason"})
    assert page.remote.calls == []


def test_what_was_done_is_written_down(signed_in, page, small):
    """Who, what, when, and how it ended; the command is the one of the command line, with the reason as one word."""
    well = next(node.name for node in small.nodes if not node.drained)
    signed_in("operator").act(f"/api/node/{well}/drain", {"reason": "$(reboot); 'fan'"})

    rows = [json.loads(line) for line in page.journal.read_text().splitlines()]
    assert [(row["by"], row["what"], row["subject"], row["outcome"]) for row in rows] == [
        ("operator1", "drain", well, "begins"), ("operator1", "drain", well, "done"),
    ]  # fmt: skip
    assert page.remote.calls == [
        (
            "control",
            f"scontrol update NodeName={well} State=DRAIN Reason='operator1: $(reboot); '\"'\"'fan'\"'\"''",
        )
    ]
    assert page.journal.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_written_down_is_not_done(signed_in, page, small):
    """The journal's place is a folder: no command is run."""
    page.journal.mkdir()
    answer = signed_in("operator").act(f"/api/job/{small.jobs[0].id}/cancel")

    assert answer.status_code == 502
    assert "cannot be written" in answer.json()["said"]
    assert page.remote.calls == []


def test_another_persons_reason_is_not_written_over(signed_in, page, small):
    """A node that is out already stays as it is."""
    out = next(node for node in small.nodes if node.by == "person")
    answer = signed_in("operator").act(f"/api/node/{out.name}/drain", {"reason": "mine"})

    assert answer.status_code == 502
    assert page.remote.calls == []


def test_a_run_is_cancelled_as_wright_cancel_does(signed_in, page, small):
    """It saves first; any other job goes by scancel, only as a job of its user; of an array the pending tasks."""
    operator = signed_in("operator")
    run = next(job for job in small.jobs if job.run)
    array = next(job for job in small.jobs if "%" in job.id)
    operator.act(f"/api/job/{run.id}/cancel")
    operator.act(f"/api/job/{array.id.replace('%', '%25')}/cancel")

    (_, first), (_, second) = page.remote.calls
    assert first == program_command("cancel", "/shared/runs", run.id)
    assert second == f"scancel --user={array.user} --state=PENDING {array.id.split('_')[0]}"


def test_what_slurm_refuses_is_said(signed_in, page, small):
    """In Slurm's own words, and nothing is claimed."""
    from clusterwright.edge.processes import CommandResult

    page.remote.run = lambda host, command, **_: CommandResult(
        (host,), 1, "", "Access/permission denied", 0.1
    )
    plain = next(job for job in small.jobs if job.run is None)
    answer = signed_in("operator").act(f"/api/job/{plain.id}/cancel")

    assert answer.status_code == 502
    assert "Access/permission denied" in answer.json()["said"]
    assert "failed" in page.journal.read_text()


def test_a_file_of_users_that_cannot_be_used_lets_nobody_in(signed_in, page, browser):
    """Not those who were in, and not those who come; one who only looks on loopback still may."""
    signed_in("operator")
    page.users.path.write_text("{")
    assert browser.client.get("/api/me").status_code == 503

    browser.client.cookies.clear()
    assert browser.sign_in("operator1").status_code == 503
    assert browser.client.get("/api/picture").status_code == 200


@pytest.mark.parametrize("host", ["[", "[::1", "]", "[x]", "localhost:x:y", ""])
def test_a_malformed_host_is_refused(client, host):
    """By an answer, not an exception."""
    assert client.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "changed", [{"origin": "http://["}, {"origin": "["}, {"content-length": "²".encode("latin-1")}]
)
def test_a_malformed_change_is_refused(signed_in, page, small, changed):
    """By an answer, not an exception; and nothing is done."""
    operator = signed_in("operator")

    assert operator.act(f"/api/job/{small.jobs[0].id}/cancel", **changed).status_code in (403, 413)
    assert page.remote.calls == []


def test_the_cookie_alone_changes_nothing(signed_in, client, page, small):
    """A server at another port of localhost receives it."""
    token = signed_in("operator").token
    path = f"/api/job/{small.jobs[0].id}/cancel"
    answers = [
        client.get(url)
        for url in ("/", "/api/me", "/sign-in", "/api/picture", f"/api/job/{small.jobs[0].id}")
    ]

    assert token
    assert not any(token in answer.text + str(answer.headers) for answer in answers)
    assert client.post(path, json={}, headers={"x-wright-token": client.cookies["wright"]}).status_code == 403
    assert page.remote.calls == []


def test_the_cookie_alone_shows_nothing(page_of, browser_of, tmp_path, small):
    """A server at another port of the host receives it; with the token of another session it is worth no more."""
    page = page_of(tmp_path, small, open_to_all=False)
    page.users.set_user(create_user("ann", "operator", "correct horse battery"))
    paths = ("/api/picture", "/api/jobs", "/api/me", f"/api/job/{small.jobs[0].id}", "/api/stream")
    with TestClient(page.app, base_url="http://localhost") as client:
        client.portal.call(page.feed.poll)
        ended, token = (
            browser_of(client).sign_in("ann").headers["location"].partition("=")[2] for _ in range(2)
        )
        del client.headers["x-wright-token"]
        answers = [
            client.get(path, headers={"x-wright-token": guess}) for path in paths for guess in ("", ended)
        ]
        assert {answer.status_code for answer in answers} == {401}
        assert client.get("/api/picture?token=x").status_code == 401
        assert client.get(f"/api/picture?token={token}").status_code == 200
        assert client.get("/api/me", headers={"x-wright-token": token}).json()["name"] == "ann"
    page.history.close()


def test_a_known_browser_is_not_kept_out_by_others_at_its_address(page, door, client, browser):
    """All users of a host are one address; a browser that signed in has a count of its own."""
    assert browser.sign_in("ann").status_code == 303
    guess(door, "testclient", "ann", times=20)
    assert door.wait_s("ann", "testclient") > 0
    client.cookies.delete("wright")
    assert browser.sign_in("ann").status_code == 303

    client.cookies.clear()
    assert browser.sign_in("ann").status_code == 429


def test_a_known_browser_guesses_no_faster(page, door, client, browser):
    """Its own wrong passwords delay it, on the account that it is known for; on another it is a stranger."""
    browser.sign_in("ann")
    for _ in range(6):
        browser.sign_in("ann", "wrong password")
    assert browser.sign_in("ann").status_code == 429
    assert door.wait_s("ann", "testclient") == 0

    cookie = client.cookies["wright-browser"]
    assert door.attempt_source("bob", "10.0.0.1", cookie) == "10.0.0.1"
    assert door.attempt_source("ann", "10.0.0.1", cookie).startswith("browser ")
    for forged in ("", "x", "x.y", cookie[:-1], "x" + cookie, cookie + "\u00e9"):
        assert door.attempt_source("ann", "10.0.0.1", forged) == "10.0.0.1"


def test_a_body_that_does_not_arrive_frees_its_place(monkeypatch, page):
    """Its head is complete, so that the connection does not count as one that waits."""
    monkeypatch.setattr(guard, "BODY_S", 0.1)

    async def never():
        await asyncio.sleep(600)

    answers = []

    async def send(message):
        answers.append(message)

    headers = [(b"host", b"localhost"), (b"content-length", b"8000")]
    scope = {
        "type": "http", "method": "POST", "path": "/sign-in", "raw_path": b"/sign-in", "query_string": b"",
        "headers": headers, "scheme": "http", "server": ("localhost", 80), "client": ("127.0.0.1", 9), "root_path": "",
        "http_version": "1.1",
    }  # fmt: skip
    asyncio.run(asyncio.wait_for(page.app(scope, never, send), 30))

    assert answers[0]["status"] == 408
    assert (b"connection", b"close") in answers[0]["headers"]


def test_slow_actions_of_users_stop_neither_operators_nor_the_page():
    """A cancel that its ranks ignore takes 40 s: two of one user, and never the threads of the page."""
    end, threads = threading.Event(), ActionThreads()
    users = [create_user(f"user{number}", "user", "a long password") for number in range(AT_ONCE)]
    operator = create_user("ann", "operator", "a long password")

    async def attack():
        tasks = [asyncio.create_task(threads.run(user, end.wait)) for user in users for _ in range(40)]
        await asyncio.sleep(0.2)
        refused = [task for task in tasks if task.done() and isinstance(task.exception(), BusyError)]
        assert len(tasks) - len(refused) == AT_ONCE - FOR_OPERATORS
        await asyncio.wait_for(threads.run(operator, lambda: None), 10)
        await asyncio.wait_for(asyncio.to_thread(int), 10)
        end.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait_for(threads.run(users[0], lambda: None), 10)

    asyncio.run(attack())
