"""A rehearsed SMS number, at a rehearsed Twilio."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from channels.rehearsal import Rehearsed
from channels.twilio.rehearsal import rehearse_line


def rehearse(hook_url: str) -> AbstractAsyncContextManager[Rehearsed]:
    """A running server that delivers to `hook_url`, and the connection that speaks to it."""
    return rehearse_line("sms", hook_url)
