"""A real Zabbix, and a small server in place of one, for the tests of what is told to it."""

import importlib.util
import sys
from pathlib import Path

import pytest


def _beside(name):
    """The module of that name beside this file."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found  # dataclasses look there for what a name means
    spec.loader.exec_module(found)
    return found


_zabbix_site, _trapper = _beside("zabbix_site"), _beside("trapper")


@pytest.fixture(scope="session")
def zabbix_site():
    """The module beside this file."""
    return _zabbix_site


@pytest.fixture(scope="session")
def trappers():
    """The module `trapper` beside this file."""
    return _trapper


@pytest.fixture
def trapper():
    """A small server that listens."""
    with _trapper.trapper_server() as found:
        yield found
