"""The curves of a run: what is drawn, and that a browser draws it."""

import json
import re
import shutil
import struct
import subprocess
import sys

import pytest

from clusterwright.cli.curves import curves, write_curves
from clusterwright.edge import processes
from clusterwright.edge.bundler import RUNS, bundle_script
from clusterwright.edge.processes import CommandResult
from clusterwright.errors import WrightError
from clusterwright.launch.curves import render_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def events(first, last, generation, *, loss=None):
    """A generation's plan and steps."""
    base, common = 1000.0 * generation, {"generation": generation, "rank": 0, "host": "a"}
    yield {"time": base, "event": "plan", "step": first - 1, "total_steps": 1000, "batch": 8, **common}
    for step in range(first, last + 1):
        busy = (step - first + 1) / 10
        yield {
            "time": base + busy, "event": "step", "step": step, "loss": 5.0 - step / 500 if loss is None else loss,
            "seconds": 0.1, "busy": busy, "waited": busy / 20, "tokens": 64, "lr": 1e-3, "norm": 1.0, "memory": 3e8,
            **({"communicated": busy / 10, "communicated_of": busy} if step % 4 == 0 else {}), **common,
        }  # fmt: skip


@pytest.fixture
def run(tmp_path):
    """A thousand steps; a host was lost at step 600, and 501 to 600 were done again with other losses."""
    run = tmp_path / "gpt-20261122-120000"
    (run / "events").mkdir(parents=True)
    (run / "job.json").write_text('{"local": true}')
    (run / "ended.json").write_text('{"outcome": "finished", "code": 0, "reason": "all <b>well</b>"}')
    lines = [*events(1, 600, 1, loss=9.0), *events(501, 1000, 2)]
    measure = {"name": "validation", "value": 3.5, "step": 1000}
    lines.append({"time": 3000.0, "event": "measure", "generation": 2, **measure})
    others = [
        {
            "time": 900.0,
            "event": "job_start",
            "job_id": "1",
            "hosts": ["a", "<b>"],
            "ranks": 1,
            "generation": 0,
        },
        {"time": 901.0, "event": "generation_start", "generation": 1, "hosts": ["a", "<b>"]},
        {
            "time": 1100.0,
            "event": "generation_end",
            "generation": 1,
            "reason": "host-lost",
            "first_failure": "host <b> was lost",
        },
        {"time": 1101.0, "event": "generation_start", "generation": 2, "hosts": ["a"]},
        {"time": 3001.0, "event": "job_end", "outcome": "finished"},
    ]
    for name, told in (("rank-00000", lines), ("supervisor-1", others)):
        (run / "events" / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in told))
    return run


@pytest.fixture
def found(run):
    """Its points, as they come from the host that has them."""
    argv = [sys.executable, "-", "curves", str(run.parent), "last"]
    return json.loads(
        subprocess.run(argv, input=bundle_script(RUNS), capture_output=True, timeout=150, check=True).stdout
    )


def test_a_step_that_was_done_again_counts_as_it_was_done_last(found):
    """Of 1,000 steps some hundred points are left, and none of the lost ones."""
    loss = found["series"]["loss"]

    assert 300 <= len(loss) <= 400
    assert [point[1] for point in loss if 501 < point[0] <= 1000] == pytest.approx(
        [5.0 - (point[0] - 1) / 500 for point in loss if 501 < point[0] <= 1000], abs=0.003
    )
    assert all(point[1] == 9.0 for point in loss if point[0] < 499)


def test_restarts_are_marked_with_what_began_them(found):
    """Where the training went on."""
    assert found["restarts"] == [{"step": 500, "generation": 2, "reason": "host <b> was lost"}]
    assert found["measures"] == {"validation": [[1000, 3.5]]}
    assert found["series"]["data_wait"][0][1] == pytest.approx(0.05)
    assert found["series"]["communication"][5][1] == pytest.approx(0.1)
    assert found["series"]["tokens_per_s"][0][1] == pytest.approx(640)


def test_the_page_stands_alone_and_has_every_value_in_words(found):
    """No script, nothing fetched, a run's own words as text; a table for who cannot see the curves."""
    text = render_page(found)

    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "<b>" not in text
    for title in ("Loss", "Learning rate", "Gradient norm", "Tokens per second", "Memory", "Restarts"):
        assert f">{title} <span" in text
    assert text.count('<svg viewBox="0 0') == 14  # seven curves, for desk and for phone
    assert text.count("Restarted from step 500: host &lt;b&gt; was lost.") >= 12
    assert '<th scope="row">1000</th><td>3</td>' in text


def test_a_run_without_a_step_has_a_page(found):
    """Which says so."""
    empty = {**found, "series": {}, "restarts": [], "measures": {}, "now": {**found["now"], "step": None}}

    assert "has completed no step yet" in render_page(empty)


def test_the_command_writes_it_and_says_where(run, tmp_path, capfd, monkeypatch):
    """Beside who asks, under the run's name, unless told otherwise; or the points alone."""
    monkeypatch.chdir(tmp_path)
    assert curves(str(run)) == 0
    assert f"curves: {run.name}.html" in capfd.readouterr().err
    assert "5.0%" in (tmp_path / f"{run.name}.html").read_text()
    assert curves(str(run), json=True) == 0
    assert json.loads(capfd.readouterr().out)["run"] == run.name


def test_a_run_whose_events_cannot_be_read_is_an_error_with_a_mend(tmp_path):
    """And not a page of nothing."""
    (tmp_path / "odd" / "events" / "rank-00000.jsonl").mkdir(parents=True)
    (tmp_path / "odd" / "job.json").write_text("{}")
    with pytest.raises(WrightError) as raised:
        curves(str(tmp_path / "odd"))

    assert "no-run" in str(raised.value)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")
@pytest.mark.parametrize(
    ("width", "height", "dark"), [(1100, 2600, False), (500, 3200, True)], ids=["desk", "dark"]
)
def test_a_browser_draws_it_without_a_complaint(found, tmp_path, width, height, dark):
    """Whole, no wider than the window, and dark on a dark desk."""
    probe = (
        "<script>document.title = document.documentElement.scrollWidth + ' of ' + innerWidth</script></html>"
    )
    (tmp_path / "page.html").write_text(render_page(found))
    (tmp_path / "wide.html").write_text(render_page(found).replace("</html>", probe))
    shot = tmp_path / "shot.png"
    said = browse(tmp_path, dark, f"--window-size={width},{height}", f"--screenshot={shot}", "page.html")

    assert "CONSOLE" not in said.stderr
    assert struct.unpack(">II", shot.read_bytes()[16:24]) == (width, height)
    seen = browse(tmp_path, dark, f"--window-size={width},{height}", "--dump-dom", "wide.html").stdout
    assert re.search(r"<title>(\d+) of \1</title>", seen)


def browse(folder, dark, *arguments):
    """Headless Chromium, which asks nobody anything."""
    *options, name = arguments
    quiet = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--no-first-run",
        "--disable-sync",
    ]
    quiet += ["--disable-background-networking", "--enable-logging=stderr", "--v=0"]
    quiet += [f"--user-data-dir={folder}/profile"]
    quiet += ["--blink-settings=preferredColorScheme=0"] if dark else []
    argv = [CHROMIUM, *quiet, *options, f"file://{folder}/{name}"]
    return subprocess.run(argv, capture_output=True, text=True, timeout=90, check=True)


def test_a_host_does_not_choose_the_folder_of_the_page(found, tmp_path, monkeypatch):
    """The name of the run in its answer is one name, whatever it holds."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)

    assert write_curves({**found, "run": "../../escaped"}, None).resolve() == folder / "escaped.html"


@pytest.mark.parametrize("answer", [{}, {"run": "a"}, {"run": 1, "series": 2, "now": 3}])
def test_a_malformed_answer_is_an_error_with_a_fix(answer):
    """In place of a traceback."""
    with pytest.raises(WrightError, match="cannot read the curves"):
        write_curves(answer, None)


@pytest.mark.parametrize("answer", ["", "[]", "[" * 60_000, '{"run": "a"} {}'])
def test_an_answer_that_is_no_object_is_an_error_with_a_fix(answer, tmp_path, monkeypatch):
    """It is parsed once, for the page and for --json."""
    monkeypatch.setattr(processes, "run", lambda argv, **_: CommandResult(tuple(argv), 0, answer, "", 0.1))
    (tmp_path / "job.json").touch()

    with pytest.raises(WrightError, match="slurm-said"):
        curves(str(tmp_path), json=True)
