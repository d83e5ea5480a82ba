"""What must never be in a ledger. Each query answers rows that break one rule; a sound ledger answers none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from channels.adapter import Call
from channels.message import InboundMessage
from gateway.ledger.records import Fault
from gateway.ledger.sql.connections import connections
from gateway.ledger.sql.database import Database
from gateway.ledger.sql.routes import routes
from routes.conflicts import first_clash

PAGE = 1_000
"""Rows read at once."""

_ANY_WAITS = "EXISTS (SELECT 1 FROM messages m WHERE m.conversation = c.id AND m.state = 'waiting')"
_ANY_TURN = "EXISTS (SELECT 1 FROM turns t WHERE t.conversation = c.id AND t.state IN ('queued', 'running'))"
_ANY_SEND = "EXISTS (SELECT 1 FROM deliveries d WHERE d.conversation = c.id AND d.status IN ('pending', 'sending'))"

RULES: Mapping[str, tuple[str, str]] = {
    "message_without_conversation": (
        "A message belongs to no conversation, and is never answered.",
        "SELECT m.id FROM messages m WHERE NOT EXISTS (SELECT 1 FROM conversations c WHERE c.id = m.conversation)",
    ),
    "turn_without_conversation": (
        "A turn belongs to no conversation, and is never run.",
        "SELECT t.id FROM turns t WHERE NOT EXISTS (SELECT 1 FROM conversations c WHERE c.id = t.conversation)",
    ),
    "delivery_without_conversation": (
        "A piece belongs to no conversation, and is never sent.",
        "SELECT d.id FROM deliveries d WHERE NOT EXISTS (SELECT 1 FROM conversations c WHERE c.id = d.conversation)",
    ),
    "message_held_by_nobody": (
        "A message counts as taken, and no open turn has it.",
        """SELECT m.id FROM messages m WHERE m.state = 'claimed' AND NOT EXISTS
        (SELECT 1 FROM turns t WHERE t.id = m.turn_id AND t.state IN ('queued', 'running'))""",
    ),
    "message_of_two": (
        "A message waits, and an open turn has it.",
        """SELECT m.id FROM messages m JOIN turns t ON t.id = m.turn_id
        WHERE m.state = 'waiting' AND t.state IN ('queued', 'running')""",
    ),
    "message_of_another_conversation": (
        "A turn has a message of another conversation.",
        "SELECT m.id FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.conversation != t.conversation",
    ),
    "two_turns_at_once": (
        "Two turns of one conversation run at the same time.",
        """SELECT c.key FROM turns t JOIN conversations c ON c.id = t.conversation
        WHERE t.state = 'running' GROUP BY c.key HAVING count(*) > 1""",
    ),
    "turn_never_due": (
        "Something waits in a conversation that is not in line.",
        f"SELECT c.key FROM conversations c WHERE c.turn_at IS NULL AND ({_ANY_WAITS} OR {_ANY_TURN})",  # noqa: S608
    ),
    "turn_due_for_nothing": (
        "A conversation is in line, and nothing waits in it.",
        f"SELECT c.key FROM conversations c WHERE c.turn_at IS NOT NULL AND NOT ({_ANY_WAITS} OR {_ANY_TURN})",  # noqa: S608
    ),
    "delivery_never_due": (
        "A piece waits in a conversation that is not in line for sending.",
        f"SELECT c.key FROM conversations c WHERE c.delivery_at IS NULL AND {_ANY_SEND}",  # noqa: S608
    ),
    "delivery_due_for_nothing": (
        "A conversation is in line for sending, and nothing is to be sent.",
        f"SELECT c.key FROM conversations c WHERE c.delivery_at IS NOT NULL AND NOT {_ANY_SEND}",  # noqa: S608
    ),
    "secret_of_nobody": (
        "A secret is kept for a connection that is gone.",
        """SELECT s.connection_id FROM secrets s
        WHERE NOT EXISTS (SELECT 1 FROM connections c WHERE c.id = s.connection_id)""",
    ),
    "route_without_connection": (
        "A route leads from a connection that is gone.",
        "SELECT r.id FROM routes r WHERE NOT EXISTS (SELECT 1 FROM connections c WHERE c.id = r.connection_id)",
    ),
}

_MESSAGES = "SELECT seq, id, data FROM messages WHERE seq > ? ORDER BY seq LIMIT ?"

_CALLS = "SELECT seq, id, call FROM deliveries WHERE seq > ? ORDER BY seq LIMIT ?"


def faults(db: Database) -> list[Fault]:
    """Every rule that is broken, the engine's own first."""
    return [*_of_engine(db), *_of_rules(db), *_of_rows(db), *_of_routes(db)]


def _of_engine(db: Database) -> Iterator[Fault]:
    said = db.damage()
    if said:
        yield Fault("storage_damaged", "The database engine finds its own file damaged.", len(said), said[0])


def _of_rules(db: Database) -> Iterator[Fault]:
    for code, (message, sql) in RULES.items():
        rows = db.execute(sql).fetchall()
        if rows:
            yield Fault(code, message, len(rows), str(rows[0][0]))


def _of_rows(db: Database) -> Iterator[Fault]:
    for code, message, sql, read in (
        ("message_unreadable", "A stored message can't be read.", _MESSAGES, InboundMessage.from_json),
        ("delivery_unreadable", "A stored piece can't be read.", _CALLS, Call.from_json),
    ):
        broken = list(_unreadable(db, sql, read))
        if broken:
            yield Fault(code, message, len(broken), broken[0])


def _unreadable(db: Database, sql: str, read: Callable[[bytes], object]) -> Iterator[str]:
    seq = 0
    while rows := db.execute(sql, (seq, PAGE)).fetchall():
        for seq, id_, data in rows:  # noqa: B007 - the last one begins the next page
            try:
                read(data)
            except ValueError:
                yield id_


def _of_routes(db: Database) -> Iterator[Fault]:
    known = {connection.id for connection in connections(db)}
    live = [route for route in routes(db) if route.enabled and route.connection_id in known]
    clash = first_clash(live, live)
    if clash is not None:
        yield Fault("routes_clash", "Two live routes take the same message.", 1, f"{clash[0].id}, {clash[1].id}")
