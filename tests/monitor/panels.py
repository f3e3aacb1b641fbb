"""Every question of every dashboard, asked of a real Prometheus as Grafana asks: choices first, then panels."""

import json
import re
import shlex
from dataclasses import dataclass, field
from urllib.parse import urlencode

from clusterwright.provision.render.monitoring.dashboards import dashboard_files

CHOICE = re.compile(r"label_values\((.+), (\w+)\)")
NOTHING_IS_A_NUMBER = re.compile(
    r" or (vector\(0\)|0 \* count\(.*\))$"
)  # a zero that stands for nothing is no data
# What runs on Prometheus's own host: paths of its API in, answers out.
PROGRAM = """
import json, sys, urllib.error, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
def ask(path):
    try:
        return json.load(opener.open("http://127.0.0.1:9090/api/v1/" + path, timeout=30))
    except urllib.error.HTTPError as why:
        return json.load(why)
json.dump({path: ask(path) for path in json.load(sys.stdin)}, sys.stdout)
"""


@dataclass(frozen=True)
class Question:
    """One query of a panel, or the question behind a choice; `name` says where it stands."""

    name: str
    text: str
    label: str = ""  # of a choice

    def path(self, chosen):
        """What Prometheus's API is asked when these are chosen."""
        text = NOTHING_IS_A_NUMBER.sub("", self.text)
        for name, value in chosen.items():
            text = re.sub(rf"\$(\{{{name}\}}|{name}\b)", value, text)
        assert "$" not in text, f"{self.name}: not all is chosen: {text}"
        if self.label:
            return f"label/{self.label}/values?{urlencode({'match[]': text})}"
        return f"query?{urlencode({'query': text})}"


@dataclass
class Answers:
    """What Prometheus said, by the question's name."""

    errors: dict = field(default_factory=dict)
    rows: dict = field(default_factory=dict)

    @property
    def empty(self):
        """Names of the questions that nothing answers."""
        return {name for name, rows in self.rows.items() if not rows}

    def choices(self, name):
        """What each dashboard that has this choice offers."""
        return [rows for question, rows in self.rows.items() if question.endswith(f"/choice of {name}")]

    def labels(self, name, label):
        """What the answer's series have for that label."""
        return {row["metric"].get(label) for row in self.rows[name]}

    def number(self, name):
        """Of a tile: its only value."""
        ((_when, value),) = [row["value"] for row in self.rows[name]]
        return float(value)


def questions():
    """All, from the files that Grafana reads: `cluster/GPUs in use/A`, `job/choice of job`, `gpu/alerts`."""
    for text in dashboard_files().values():
        page = json.loads(text)
        where = page["uid"].removeprefix("clusterwright-")
        for one in page["templating"]["list"]:
            if one["type"] == "query":
                series, label = CHOICE.fullmatch(one["query"]["query"]).groups()
                yield Question(f"{where}/choice of {one['name']}", series, label)
        for one in page["annotations"]["list"]:
            yield Question(f"{where}/alerts", one["expr"])
        for panel in page["panels"]:
            for target in panel.get("targets", []):
                title = panel["title"].partition(" · ")[0]
                yield Question(f"{where}/{panel['type']} {title}/{target['refId']}", target["expr"])


def asked(site, chosen, names=None):
    """Answers of the Prometheus of a lab's control host; of all questions, unless some are named."""
    wanted = [one for one in questions() if names is None or one.name in names]
    paths = {one.name: one.path(chosen) for one in wanted}
    told = json.dumps(sorted(set(paths.values()))).encode()
    done = site.remote.run("control", f"python3 -c {shlex.quote(PROGRAM)}", stdin=told, timeout_s=120)
    assert done.ok, done.last_lines(20)
    found, said = Answers(), json.loads(done.out)
    for name, path in paths.items():
        answer = said[path]
        if answer["status"] != "success":
            found.errors[name] = answer["error"]
            continue
        data = answer["data"]
        found.rows[name] = data if isinstance(data, list) else data["result"]
    return found
