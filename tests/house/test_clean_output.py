"""What a command prints passes through one stream, which cleans it; few modules write colors around it."""

import re

UNFILTERED = {  # each cleans the text that it colors
    "cli/__init__.py", "cli/_change_plan.py", "cli/_progress.py", "cli/_run_output.py", "cli/why.py",
    "edge/processes.py", "onhost/lib/clean_text.py",
    "onhost/runs/run_logs.py",  # on the host; edge/processes cleans what it prints
}  # fmt: skip
CONSOLES = {"cli/_help.py", "cli/_show.py", "cli/top.py", "monitor/top/static_screen.py"}


def test_few_modules_bypass_the_stream_that_cleans(source):
    """A new one cleans its text and is named here."""
    bypass = re.compile(r"\bunfiltered\(|sys\.__std|stdout\.buffer")
    users = {module.inside for module in source if bypass.search(module.text)}

    assert users == UNFILTERED


def test_few_modules_have_a_console(source):
    """Rich writes its colors unfiltered."""
    owners = {
        module.inside for module in source if "rich.console.Console" in [name for _, name in module.imports]
    }

    assert owners == CONSOLES
