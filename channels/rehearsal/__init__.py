"""What the rehearsal servers share: a record, faults on demand, and one control API."""

from channels.rehearsal.client import RehearsalClient
from channels.rehearsal.server import Rehearsal, Rehearsed

__all__ = ["Rehearsal", "RehearsalClient", "Rehearsed"]
