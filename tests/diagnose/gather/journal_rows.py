"""What `journalctl -o json` prints, from the text that it prints without."""

import json
import re

_LINE = re.compile(
    r"(?P<time>\d\S+) (?P<host>\S+) (?P<identifier>[\w.-]+)(?:\[(?P<pid>\d+)\])?: (?P<text>.*)"
)


def row(text, identifier="kernel", pid=""):
    """One entry of the journal."""
    fields = {
        "__REALTIME_TIMESTAMP": "1795390000000000",
        "SYSLOG_IDENTIFIER": identifier,
        "MESSAGE": text,
    }
    return json.dumps(fields | ({"_PID": pid} if pid else {}))


def rows(lines):
    """The entries of a text of `-o short-iso`, or of messages alone."""
    matches = [(line, _LINE.fullmatch(line)) for line in lines.splitlines()]
    return "".join(
        (row(match["text"], match["identifier"], match["pid"]) if match else row(line, "slurmd")) + "\n"
        for line, match in matches
    )
