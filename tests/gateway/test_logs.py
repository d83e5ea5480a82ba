"""No secret in any log line."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest
import structlog

from gateway import logs


@pytest.fixture
def lines(monkeypatch):
    """A configured log on a stream of the test's own; the process-wide state is put back."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    logs.configure(pretty=False)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()


TOKENS = ["123456789:" + "Aa1_" * 9, "xoxb-" + "1234567890-ab", "xapp-" + "1-A111-222-ab", "sk-" + "test-" * 5]


@pytest.mark.parametrize("token", TOKENS)
def test_a_provider_token_is_masked_by_its_shape(lines, token):
    structlog.get_logger().info("called", url=f"https://api.example/bot{token}/getMe", nested={"t": token})
    assert token not in json.dumps(lines())


def test_a_known_secret_is_masked_wherever_it_turns_up(lines):
    logs.hide("correct horse battery")
    try:
        raise ValueError("password correct horse battery refused")
    except ValueError:
        structlog.get_logger().exception("failed")
    logging.getLogger("some.library").warning("with %s", "correct horse battery")
    text = json.dumps(lines())
    assert "correct horse" not in text
    assert text.count(logs.MASK) >= 2


def test_the_secret_half_of_a_webhook_path_is_masked(lines):
    structlog.get_logger().info("request", path="/hooks/shop/Zx81kkQ2-secret")
    assert "Zx81kkQ2" not in json.dumps(lines())


def test_a_message_id_follows_a_message_through_every_line(lines):
    with structlog.contextvars.bound_contextvars(message="01ABC"):
        structlog.get_logger().info("one")
        logging.getLogger("another").warning("two")
    assert [line["message"] for line in lines()] == ["01ABC", "01ABC"]
