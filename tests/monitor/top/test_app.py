"""The screen with 1,000 nodes and 5,000 jobs, as keys change it."""

from dataclasses import replace

import pytest

from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.monitor.snapshot import Alert, JobView, Snapshot
from clusterwright.monitor.top.messages import KEYS


@pytest.fixture(scope="module")
def picture(recorded):
    """The recorded cluster."""
    return recorded.made_picture()


def test_the_whole_cluster_is_on_one_screen(on_stage, picture):
    """Headline, nodes folded by group and state with the worst first, teams, alerts, jobs."""

    async def script(stage):
        lines = stage.text.splitlines()
        assert lines[0].startswith(" recorded  nodes 1000 down 10 drained 39  GPUs 6736/7600")
        assert "jobs running 282 pending 4718" in lines[0]
        assert lines[3].startswith("│+ a100           down              2        0/16")
        for words in ("jobs 5000/5000", "language2", "critical  h100-0210", "?: keys"):
            assert words in stage.text
        assert len(stage.jobs()) > 15

    on_stage(script, picture)


def test_the_cursor_goes_to_the_end_and_back(on_stage, picture):
    """5,000 rows, of which those on the screen are made."""

    async def script(stage):
        await stage.press("G")
        assert stage.list("jobs").cursor == 4999
        seen = stage.jobs()
        assert stage.list("jobs").chosen.id in seen
        await stage.press("g", "j", "down", "k")
        assert stage.list("jobs").cursor == 1
        assert stage.jobs() != seen
        await stage.press("pagedown", "pagedown", "pageup")
        assert stage.list("jobs").cursor > 10

    on_stage(script, picture)


def test_sorting_filtering_and_searching(on_stage, picture):
    """Each says beneath what it does; Esc ends the search."""

    async def script(stage):
        await stage.press("s")
        assert "sorted by job" in stage.text
        assert stage.jobs()[:2] == ["100000", "100001"]
        await stage.press("S")
        assert stage.jobs()[0].startswith("104999")
        await stage.press("S", "f")
        assert "jobs 282/5000" in stage.text
        await stage.press("f")
        assert "jobs 4718/5000" in stage.text
        await stage.press("f", "u")
        assert {job.user for job in stage.list("jobs").items} == {"vision1"}
        await stage.press("u", "slash", *"bert running h100-0", "enter")
        found = stage.list("jobs").items
        assert found
        assert all("bert" in job.name and job.state == "RUNNING" for job in found)
        await stage.press("j", "escape")
        assert len(stage.list("jobs").items) == 5000

    on_stage(script, picture)


def test_a_group_opens_to_its_nodes_and_a_node_to_its_gpus(on_stage, picture):
    """Enter, and Enter again; Esc goes back."""

    async def script(stage):
        await stage.press("1", "enter")
        assert "a100-0822" in stage.text
        await stage.press("j", "enter")
        assert "Not responding" in stage.text
        assert "GPU 7 a100" in stage.text
        await stage.press("escape", "k", "enter")
        assert stage.list("nodes").items[1].name == "h100"

    on_stage(script, picture)


def test_details_of_jobs_teams_and_alerts(on_stage, picture):
    """A training with its curve; who of a team holds what; an alert with its runbook."""

    async def script(stage):
        await stage.press("slash", *"llama-8b-20261122", "enter", "enter")
        for words in ("tokens/s", "MFU", "goodput", "checkpoint", "▁"):
            assert words in stage.text
        await stage.press("q", "3", "enter")
        assert "fair share" in stage.text
        await stage.press("escape", "4", "enter")
        assert "https://docs.example/alerts" in stage.text

    on_stage(script, picture)


def test_tab_goes_around_the_panels(on_stage, picture):
    """Jobs first, then teams, alerts, nodes; and back."""

    async def script(stage):
        seen = []
        for _press in range(4):
            await stage.press("tab")
            seen.append(stage.app.focused.id)
        assert seen == ["teams", "alerts", "nodes", "jobs"]
        await stage.press("shift+tab")
        assert stage.app.focused.id == "nodes"

    on_stage(script, picture)


def test_cancelling_asks_first(on_stage, picture):
    """Enter is no yes; `y` is, and what Slurm refuses is shown."""

    async def script(stage):
        job = stage.list("jobs").chosen
        await stage.press("c")
        assert f"Cancel job {job.id} of {job.user}" in stage.text
        await stage.press("enter", "d", "n")
        assert stage.acts.done == []
        await stage.press("c", "y")
        assert stage.acts.done == [job.id]
        await stage.until(f"job {job.id} is canceled")
        await stage.press("j")
        stage.acts.refused.add(stage.list("jobs").chosen.id)
        await stage.press("c", "y")
        await stage.until("Access/permission denied")
        assert stage.acts.done == [job.id]
        await stage.press("1", "c")
        await stage.until("select a job first")

    on_stage(script, picture)


def test_output_and_reason_are_shown_harmless(on_stage, picture):
    """An escape sequence of a job's is text."""

    async def script(stage):
        job = stage.list("jobs").chosen
        await stage.press("o")
        assert f"step 1 of {job.id}\\x1b[2J" in stage.text
        assert "last line" in stage.text
        await stage.press("q", "w")
        assert f"{job.id}: the reason" in stage.text

    on_stage(script, picture)


def test_names_of_strangers_do_nothing(on_stage, recorded):
    """Markup, escape sequences, line breaks and direction marks are written out, each on its own line."""
    jobs = tuple(
        JobView(str(100000 + place), name, "eve", "bio", "train", "RUNNING", gpus=1)
        for place, name in enumerate(recorded.HOSTILE)
    )
    alert = Alert("X", "warning", "n1", 0.0, "a [red]summary[/] \x1b[31m\nsecond")

    async def script(stage):
        assert stage.jobs() == [job.id for job in jobs]
        for words in (
            "<script>alert('name')</s",
            "\\x1b[31mred\\x1b[0m",
            "two\\x0alines",
            "\\u202e",
            "{[bold red]}[/]",
        ):
            assert words in stage.text
        assert not {"\x1b", "\u202e", "\x07"} & set(stage.text)
        for _job in jobs:
            await stage.press("enter", "escape", "c", "escape", "j")
        await stage.press("4", "enter")
        assert "[red]summary[/] \\x1b[31m\\x0asecond" in stage.text

    on_stage(script, Snapshot("x\x1b[2J", 10.0, jobs=jobs, alerts=(alert,)), size=(150, 50))


def test_a_narrow_terminal_shows_one_panel_at_a_time(on_stage, picture):
    """70 columns, and Chinese of two columns a sign: no line is longer."""

    async def script(stage):
        assert f"{_('jobs')} 5000/5000" in stage.text
        assert _("teams") not in stage.text
        for panel, words in (
            ("1", _("nodes")),
            ("3", _("teams")),
            ("4", _("alerts")),
            ("2", f"{_('jobs')} 5000"),
        ):
            await stage.press(panel)
            assert words in stage.text.splitlines()[2]
        await stage.press("question_mark")
        assert _(KEYS[0][1]) in stage.text

    on_stage(script, picture, size=(70, 20), lang="zh")


@pytest.mark.parametrize("size", [(30, 8), (12, 4), (300, 100)])
def test_terminals_of_odd_sizes(on_stage, picture, size):
    """Nothing breaks."""

    async def script(stage):
        await stage.press("1", "enter", "j", "2", "j", "c", "escape", "question_mark", "escape")
        assert len(stage.text.splitlines()) <= size[1]

    on_stage(script, picture, size=size)


def test_signs_of_ascii_alone(on_stage, recorded):
    """Where the terminal has no others, heat is of letters that it has."""

    async def script(stage):
        await stage.press("1")
        assert not set("▁▂▃▄▅▆▇█·") & set("".join(stage.text.splitlines()[3:10]).replace("▇", ""))

    on_stage(script, recorded.made_picture(40, 20), ascii_only=True)


def test_the_cursor_stays_with_its_job_when_others_come_and_go(on_stage, picture):
    """A newer picture five seconds later, not sooner."""
    pictures = [picture, replace(picture, taken=picture.taken + 5, jobs=picture.jobs[3:])]

    async def script(stage):
        await stage.press("s", "j", "j", "j", "j")
        chosen = stage.list("jobs").chosen
        await stage.press("r")
        assert len(pictures) == 1
        stage.clock.sleep(5)
        await stage.press("r")
        assert pictures == []
        assert stage.list("jobs").chosen == chosen
        assert stage.list("jobs").cursor == 1

    on_stage(script, lambda: pictures.pop(0))


def test_a_cluster_that_does_not_answer_says_so_and_keeps_what_was_known(on_stage, picture):
    """At first nothing is known; later the last picture stays, with ssh's words above it."""
    broken = WrightError.from_code("unreachable", "control was not reached: timed out", "try ssh control")
    answers = [broken, picture, broken]

    def look():
        answer = answers.pop(0)
        if isinstance(answer, WrightError):
            raise answer
        return answer

    async def script(stage):
        assert "control was not reached" in stage.text
        await stage.press("j", "enter", "c", "s", "1", "enter")
        stage.clock.sleep(5)
        await stage.press("2", "r")
        assert "control was not reached" not in stage.text
        stage.clock.sleep(5)
        await stage.press("r")
        assert "control was not reached" in stage.text
        assert "jobs 5000/5000" in stage.text

    on_stage(script, look)


def test_what_is_missing_is_named(on_stage, recorded):
    """In the headline."""
    picture = replace(recorded.made_picture(20, 5), missing=("alerts: Connection refused",))

    async def script(stage):
        assert "missing: alerts: Connection refused" in stage.text

    on_stage(script, picture)
