"""A rehearsed Twilio: the Messages API, signed webhooks and status callbacks, on loopback."""

from channels.twilio.rehearsal.server import TwilioRehearsal, rehearse_line

__all__ = ["TwilioRehearsal", "rehearse_line"]
