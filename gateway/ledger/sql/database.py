"""What the queries need of a database, whichever it is: SQL in the part of the language that both engines speak."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

Row = Sequence[Any]
"""A row as a driver gives it: untyped, and typed again by the functions of `codec`."""

Parameters = Sequence[object] | Mapping[str, object]
"""Values for `?`, or for `:name`."""


class Cursor(Protocol):
    """The result of one statement."""

    @property
    def rowcount(self) -> int:
        """How many rows a writing statement touched."""
        ...

    def fetchone(self) -> Any:
        """The next row."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """One connection in a transaction."""

    skip_locked: str
    """What a SELECT ends with to lock its rows and leave out those that another gateway has locked."""

    def execute(self, sql: str, parameters: Parameters = (), /) -> Cursor:
        """Run one statement."""
        ...

    def executemany(self, sql: str, parameters: Iterable[Parameters], /) -> Cursor:
        """Run one statement for each set of values."""
        ...

    def lock(self, sql: str, parameters: Parameters) -> None:
        """Hold the rows of a SELECT until the transaction ends: those of the table it calls `c`.

        Nothing to do where there is one writer.
        """
        ...

    def lock_lines(self, sql: str, parameters: Parameters) -> None:
        """The same for conversations, in the order of their keys, so that nobody waits in a circle."""
        ...

    def lock_name(self, name: str) -> None:
        """Hold a name until the transaction ends, for what has no row yet."""
        ...

    def damage(self) -> list[str]:
        """What the engine finds wrong with what it stored; nothing where it looks after that by itself."""
        ...
