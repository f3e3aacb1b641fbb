"""The recorded cluster, for all tests of what is watched."""

import importlib.util
import sys
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("recorded", Path(__file__).with_name("recorded.py"))
_recorded = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_recorded)


@pytest.fixture(scope="session")
def recorded():
    """The module beside this file: `recorded.recorded(nodes, jobs)` and `recorded.made_picture(nodes, jobs)`."""
    return _recorded


_spec_receiving = importlib.util.spec_from_file_location(
    "receiving", Path(__file__).with_name("receiving.py")
)
_receiving = importlib.util.module_from_spec(_spec_receiving)
sys.modules["receiving"] = _receiving  # dataclasses look there for what a name means
_spec_receiving.loader.exec_module(_receiving)


@pytest.fixture(scope="session")
def receiving():
    """The module beside this file: receivers of HTTP and of mail."""
    return _receiving


_spec_panels = importlib.util.spec_from_file_location("panels", Path(__file__).with_name("panels.py"))
_panels = importlib.util.module_from_spec(_spec_panels)
sys.modules["panels"] = _panels  # as above
_spec_panels.loader.exec_module(_panels)


@pytest.fixture(scope="session")
def panels():
    """The module beside this file: every question of every dashboard, and what Prometheus answers."""
    return _panels
