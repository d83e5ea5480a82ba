"""What every test shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support import emulate
from tests.support.postgres import Server, running_server

settings.register_profile("postroom", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("torture", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("postroom")

WITHOUT_EMULATE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Have the doubles that others wrote in place before anything is collected, once for all workers."""
    if not hasattr(config, "workerinput"):
        config.stash[WITHOUT_EMULATE] = emulate.install()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was no part of this run."""
    why = config.stash.get(WITHOUT_EMULATE, "")
    if why:
        terminalreporter.write_line(f"Not run: tests/channels/emulate, against {emulate.PACKAGE} from npm; {why}.")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server of this worker's own."""
    with running_server() as server:
        yield server
