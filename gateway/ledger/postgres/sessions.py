"""Connections to PostgreSQL: a bounded pool of threads, each with its own, made anew when it broke."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import psycopg
import structlog
from psycopg.conninfo import make_conninfo

from gateway.ledger.errors import LedgerUnavailable
from gateway.ledger.postgres.database import PostgresDatabase
from gateway.ledger.sql.database import Database

T = TypeVar("T")

log = structlog.get_logger()

CONNECT_SECONDS = 5
PAUSES = (0.01, 0.02, 0.04, 0.08)
"""The longest pauses, in seconds, before a transaction is begun again that another one got in the way of."""

SETTINGS = """
SET statement_timeout = '15s';
SET lock_timeout = '10s';
SET idle_in_transaction_session_timeout = '30s';
SET synchronous_commit = on
"""
"""A gateway that is stopped in the middle of a transaction must not hold its locks for long."""

KEEPALIVE = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 8_000,
}
"""A network that is cut is noticed after about ten seconds, with a question under way or without."""

_AGAIN = frozenset({"40001", "40P01", "55P03"})
"""SQLSTATE of a serialization failure, a deadlock, and a lock waited for in vain."""

_OUR_FAULT = frozenset({"22", "23", "42"})
"""Classes of SQLSTATE that mean a wrong program, not a database in trouble."""


class Sessions:
    """Runs functions, each in a transaction of its own, on one of `threads` connections."""

    def __init__(self, url: str, threads: int, name: str, begin: str = "BEGIN") -> None:
        self._url = url
        self._begin = begin
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._mine = threading.local()
        self._opened: set[psycopg.Connection] = set()

    @property
    def pool(self) -> ThreadPoolExecutor:
        """The threads that `transact` is to be called in."""
        return self._pool

    def transact(self, work: Callable[[Database], T]) -> T:
        """Run a function and commit. Raises what it raises, or LedgerUnavailable."""
        for pause in (*PAUSES, None):
            try:
                return self._once(work)
            except psycopg.Error as error:
                if error.sqlstate in _AGAIN and pause is not None:
                    log.debug("ledger_again", sqlstate=error.sqlstate)
                    time.sleep(random.uniform(0, pause))  # noqa: S311 - so that two don't meet again
                    continue
                if is_trouble(error):
                    raise unavailable(error) from error
                raise
        raise AssertionError  # the last try returns or raises

    def close(self) -> None:
        """Let what runs end, then disconnect."""
        self._pool.shutdown()
        for connection in self._opened:
            connection.close()

    def _once(self, work: Callable[[Database], T]) -> T:
        connection = self._begun()
        try:
            result = work(PostgresDatabase(connection))
            connection.execute("COMMIT")
        except BaseException as error:
            self._undo(connection, error)
            raise
        return result

    def _begun(self) -> psycopg.Connection:
        """A connection in a transaction. One that the server left while it was idle is made anew: nothing was done."""
        connection = self._connection()
        try:
            connection.execute(self._begin)
        except psycopg.OperationalError:
            if not connection.closed:
                raise
            connection = self._connection()
            connection.execute(self._begin)
        return connection

    def _undo(self, connection: psycopg.Connection, error: BaseException) -> None:
        """Roll back; a connection that is broken, or leads to a server that takes no writes, is given up."""
        try:
            if not connection.closed:
                connection.execute("ROLLBACK")
        except psycopg.Error:
            connection.close()
        if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            connection.close()

    def _connection(self) -> psycopg.Connection:
        connection: psycopg.Connection | None = getattr(self._mine, "connection", None)
        if connection is None or connection.closed:
            if connection is not None:
                self._opened.discard(connection)
            connection = self._mine.connection = connect(self._url)
            self._opened.add(connection)
        return connection


def patient(url: str) -> str:
    """The address with the time-outs of every connection here. Raises psycopg.Error for what is no address."""
    return make_conninfo(url, connect_timeout=CONNECT_SECONDS, **KEEPALIVE)


def connect(url: str) -> psycopg.Connection:
    """A connection whose transactions are ours to begin. Raises psycopg.Error."""
    connection = psycopg.connect(patient(url), autocommit=True)
    connection.execute(SETTINGS)
    return connection


def is_trouble(error: psycopg.Error) -> bool:
    """Whether it failed for a reason outside this program: the server, the network, a disk, a lock."""
    return error.sqlstate is None or error.sqlstate[:2] not in _OUR_FAULT


def unavailable(error: psycopg.Error) -> LedgerUnavailable:
    """What PostgreSQL said, as the error that callers know."""
    said = (str(error).strip() or type(error).__name__).splitlines()[0]
    failure = LedgerUnavailable(
        f"The ledger's database can't be used: {said}.",
        fix="Check that PostgreSQL runs and POSTROOM_DATABASE_URL leads to it; nothing accepted before is lost.",
    )
    failure.__cause__ = error
    return failure
