"""JupyterLab on a compute host of a lab: real Slurm, real ssh tunnels, a real kernel."""

import contextlib
import json
import shutil
import subprocess
import time
import uuid
from importlib.util import find_spec
from urllib.request import ProxyHandler, Request, build_opener

import pytest

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not find_spec("jupyterlab"), reason="jupyterlab is not installed (pip install jupyterlab)"
    ),
]
RUNS = "/shared/runs/dev-bob"


def kernel(base, token):
    """A new kernel's id."""
    request = Request(f"{base}/api/kernels", b"{}", {"Authorization": f"token {token}"})
    with build_opener(ProxyHandler({})).open(request, timeout=60) as answer:
        return json.load(answer)["id"]


def compute(base, token, code, name=None):
    """What a kernel prints for that code, by the websocket that a notebook uses."""
    import websocket

    name = name or kernel(base, token)
    talk = websocket.create_connection(
        f"{base.replace('http', 'ws', 1)}/api/kernels/{name}/channels",
        header=[f"Authorization: token {token}"], timeout=60,
    )  # fmt: skip
    ours = uuid.uuid4().hex
    header = {
        "msg_id": ours,
        "msg_type": "execute_request",
        "username": "",
        "session": ours,
        "version": "5.3",
    }
    content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}}
    whole = {"header": header, "parent_header": {}, "metadata": {}, "channel": "shell", "content": content}
    talk.send(json.dumps(whole))
    said = ""
    while True:
        message = json.loads(talk.recv())
        if message["parent_header"].get("msg_id") != ours:
            continue
        if message["msg_type"] == "stream":
            said += message["content"]["text"]
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            talk.close()
            return said


def get(base, path, token=None):
    """Status and body of an answer."""
    from urllib.error import HTTPError

    headers = {"Authorization": f"token {token}"} if token else {}
    try:
        with build_opener(ProxyHandler({})).open(Request(base + path, headers=headers), timeout=20) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_a_kernel_computes_on_one_gpu_of_a_compute_host(dev):
    """Through the printed tunnel: 403 without the token, 200 with it, and a kernel of bob's in the job's share."""
    up = dev.up("--gpus", 1)
    base = dev.tunnel(up)

    assert get(base, "/api/contents")[0] == 403
    assert get(base, "/api/kernels", "0" * 48)[0] == 403
    assert get(base, "/api/status", up["token"])[0] == 200
    assert "jupyter-config-data" in get(base, "/lab", up["token"])[1]
    asked = "import getpass, os; print(1 + 1, getpass.getuser(), os.uname()[1], os.environ['CUDA_VISIBLE_DEVICES'])"
    assert compute(base, up["token"], asked).split() == ["2", "bob", up["host"], "0"]
    assert compute(base, up["token"], "import os; print(os.getcwd())").strip() == "/home/bob"


def test_the_token_is_seen_by_nobody_else(dev):
    """Not in a command line, an environment of another's, Slurm's queue, or a file that others read."""
    up = dev.up()
    there = up["host"]

    everything = dev.sh(
        there, "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; ls /tmp"
    )
    assert up["token"] not in everything + dev.sh(
        "control", "scontrol show job; scontrol write batch_script 1 - ; true"
    )
    own = "! -path '*/profile_default/startup/README'"  # IPython's, whose package gives it its mode
    assert dev.sh("control", f"find {RUNS} -perm /077 {own}").strip() == ""
    assert up["token"] not in dev.sh("control", f"cat {RUNS}/jupyter-*/jupyter.log {RUNS}/jupyter-*/job.out")
    denied = dev.remote.run(there, f"runuser -u alice -- ls {RUNS}")
    assert "Permission denied" in denied.err
    listening = dev.sh(there, f"ss -Hltn sport = :{up['port']}").split()
    assert listening[3] == f"127.0.0.1:{up['port']}"


def test_again_is_the_same_and_a_stop_leaves_nothing_secret(dev):
    """The second one is joined in a moment; after the stop the GPUs are free and the token is nowhere."""
    first = dev.up()
    began = time.monotonic()
    again = dev.up()

    assert (again["token"], again["port"], again["joined"]) == (first["token"], first["port"], True)
    assert time.monotonic() - began < 10
    done = dev.plain("stop", first["job"])
    assert "stopped" in done.stderr
    dev.until("squeue -h", "")
    assert first["token"] not in dev.sh("control", f"cat $(find {RUNS} -type f)")
    assert dev.sh(first["host"], "pgrep -u bob -a || echo nobody").strip() == "nobody"


def test_the_page_opens_in_a_browser(dev, tmp_path):
    """Chromium shows JupyterLab's own launcher."""
    if not shutil.which("chromium"):
        pytest.skip("chromium is not installed (apt-get install chromium)")
    up = dev.up()
    dev.tunnel(up)

    shown = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile",
         "--virtual-time-budget=20000", "--dump-dom", up["url"]],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "Launcher" in shown.stdout, shown.stdout[-2000:] + shown.stderr[-2000:]


def test_two_who_want_one_port_of_one_host_both_have_theirs(dev):
    """The second one is told which it has, and each token opens its own alone."""
    port = 38555
    dev.sh("control", "scontrol update nodename=gpu-node2 state=drain reason=test")
    try:
        first = dev.up("--port", port)
        second = dev.up("--port", port, user="alice")
    finally:
        dev.sh("control", "scontrol update nodename=gpu-node2 state=resume")

    assert (first["host"], second["host"]) == ("gpu-node1", "gpu-node1")
    assert (first["port"], first["notes"]) == (port, [])
    assert second["port"] != port
    assert f"port {port} is in use on this host" in second["notes"][0]
    base = dev.tunnel(second)
    assert get(base, "/api/kernels", second["token"])[0] == 200
    assert get(base, "/api/kernels", first["token"])[0] == 403
    given = [
        dev.sh("control", f"scontrol show job -d {up['job']} | grep -o 'IDX:[0-9]*'")
        for up in (first, second)
    ]
    assert sorted(given) == ["IDX:0\n", "IDX:1\n"]


def test_it_ends_when_no_kernel_works_any_more(dev):
    """A kernel that sleeps works; after that, with the page still open, the job ends and the GPU is free."""
    up = dev.up("--idle", "8s")
    base = dev.tunnel(up)

    assert compute(base, up["token"], "import time; time.sleep(16); print('slept')") == "slept\n"
    finished = time.monotonic()
    while dev.sh("control", "squeue -h"):
        with contextlib.suppress(OSError):
            get(base, "/api/sessions", up["token"])  # as a page does that somebody has left open
        assert time.monotonic() - finished < 60
        time.sleep(1)
    assert time.monotonic() - finished > 6
    said = dev.sh("control", f"tail -n 1 $(ls -td {RUNS}/jupyter-* | head -1)/said.jsonl")
    assert "idle for 8 s" in said


def test_a_python_without_jupyter_is_named_with_the_mend(dev):
    """The command to install it, into the very environment."""
    said = dev.refused("--python", "/usr/bin/python3")

    assert "error[dev-no-jupyter]: job " in said
    assert "/usr/bin/python3 has no JupyterLab" in said
    assert "fix: /usr/bin/python3 -m pip install 'jupyterlab>=4'" in said
    dev.until("squeue -h", "")


def test_a_python_that_is_not_there_is_named(dev):
    """With the place where it is said."""
    said = dev.refused("--python", "/opt/none/bin/python")

    assert "error[dev-no-python]" in said
    assert "/opt/none/bin/python does not run on this host: No such file" in said


def test_a_user_without_a_home_works_in_a_folder_beside_the_runs(dev):
    """It stays from one session to the next."""
    for host in ("gpu-node1", "gpu-node2"):
        dev.sh(host, "mv /home/bob /home/was-bob")
    try:
        up = dev.up()
        base = dev.tunnel(up)
        shown = compute(base, up["token"], "import os; print(os.getcwd(), os.path.expanduser('~'))").split()
    finally:
        for host in ("gpu-node1", "gpu-node2"):
            dev.sh(host, "mv /home/was-bob /home/bob")

    assert shown == [f"{RUNS}/home", f"{RUNS}/home"]
    assert f"{up['host']} has no /home/bob; files are stored in {RUNS}/home" in up["notes"]


def test_a_full_home_is_named_and_can_be_tidied_up(dev):
    """JupyterLab comes up all the same, with its own files elsewhere."""
    for host in ("gpu-node1", "gpu-node2"):
        full = "mount -t tmpfs -o size=16k,uid=bob,gid=vision,mode=755 none /home/bob"
        dev.sh(
            host,
            f"{full}; dd if=/dev/zero of=/home/bob/big bs=1k count=64 2>/dev/null; chown bob /home/bob/big; true",
        )
    try:
        up = dev.up()
        base = dev.tunnel(up)
        assert compute(base, up["token"], "import os; os.remove('big'); print(1 + 1)") == "2\n"
    finally:
        dev.rest()
        for host in ("gpu-node1", "gpu-node2"):
            dev.sh(host, "umount -l /home/bob")

    assert f"cannot write to /home/bob on {up['host']}: No space left on device" in up["notes"][0]


def test_no_room_for_the_session_itself_is_refused_before_anything_is_submitted(dev):
    """Nothing is in the queue, and nothing half-made is left."""
    dev.sh("control", f"install -d -o bob -g vision -m 700 {RUNS}")
    dev.sh("control", f"mount -t tmpfs -o size=16k,uid=bob,gid=vision,mode=700 none {RUNS}")
    try:
        said = dev.refused()
        left = dev.sh("control", f"ls {RUNS}; squeue -h")
    finally:
        dev.sh("control", f"umount {RUNS}")

    assert "error[dev-no-room]" in said
    assert "No space left on device" in said
    assert left == ""


def test_a_folder_that_somebody_else_made_first_is_not_used(dev):
    """Its owner would read the token; the session uses another folder."""
    dev.sh("control", f"mv {RUNS} {RUNS}.kept 2>/dev/null; install -d -o alice -m 777 {RUNS}")
    try:
        dev.up()
        theirs = dev.sh("control", f"ls -A {RUNS}")
        ours = dev.sh("control", f"stat -c '%U %a' {RUNS}-*").splitlines()
    finally:
        dev.sh("control", f"rm -r {RUNS}; mv {RUNS}.kept {RUNS} 2>/dev/null; true")

    assert theirs == ""
    assert ours == ["bob 700"]
