"""Whole screens as text, kept beside: `pytest tests/monitor/top --golden` rewrites them; read the diff like code."""

from pathlib import Path

import pytest

SCREENS = Path(__file__).with_name("screens")
CASES = {
    "wide.txt": ((150, 45), "en", ()),
    "wide.zh.txt": ((150, 45), "zh", ()),
    "narrow.txt": ((72, 24), "en", ("1", "enter")),
    "node.txt": ((120, 40), "en", ("1", *"jjjjj", "enter", "j", "enter")),
    "run.txt": ((120, 45), "en", ("slash", *"20261122", "enter", "enter")),
    "keys.zh.txt": ((100, 30), "zh", ("question_mark",)),
}


@pytest.mark.parametrize(
    "name",
    CASES,
)
def test_the_screen_is_as_it_was(on_stage, recorded, golden, name):
    """Of the recorded cluster of 120 nodes and 200 jobs."""
    size, lang, keys = CASES[name]
    path = SCREENS / name

    async def script(stage):
        await stage.press(*keys)
        text = "\n".join(line.rstrip() for line in stage.text.splitlines()) + "\n"
        if golden:
            path.write_text(text)
        assert text == path.read_text()

    on_stage(script, recorded.made_picture(120, 200), size=size, lang=lang)
