"""What gateways share of agents: their state, a file each, and packages as they were published."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gateway.ledger.errors import NotFound, StateChanged
from gateway.ledger.records import Bundle, StateFile
from gateway.ledger.sql.database import Database

BEGUN = ""
"""The path of the row that says that a folder was begun."""

_VERSIONS = "SELECT path, version FROM states WHERE agent_id = ? AND folder = ?"

_FILE = "SELECT content FROM states WHERE agent_id = ? AND folder = ? AND path = ?"

_ADD = """
INSERT INTO states (agent_id, folder, path, version, content) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (agent_id, folder, path) DO NOTHING
"""

_REPLACE = """
UPDATE states SET version = ?, content = ? WHERE agent_id = ? AND folder = ? AND path = ? AND version = ?
"""

_DROP = "DELETE FROM states WHERE folder = ? RETURNING path"

_ADD_BUNDLE = """
INSERT INTO bundles (digest, agent_id, content, at, author) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (digest) DO UPDATE SET at = excluded.at, author = excluded.author
"""

_PUBLISH = """
INSERT INTO published (agent_id, digest) VALUES (?, ?) ON CONFLICT (agent_id) DO UPDATE SET digest = excluded.digest
"""

_UNPUBLISH = "DELETE FROM published WHERE agent_id = ?"

_PUBLISHED = "SELECT agent_id, digest FROM published"

_BUNDLE = "SELECT agent_id, digest, content, author, at FROM bundles WHERE digest = ?"

_DROP_BUNDLES = "DELETE FROM bundles WHERE agent_id = ? AND digest NOT IN (SELECT digest FROM published)"


def state(db: Database, agent_id: str, folder: str, known: Mapping[str, int]) -> dict[str, StateFile] | None:
    """Those files that are not `known` as they are."""
    versions: dict[str, int] = dict(db.execute(_VERSIONS, (agent_id, folder)).fetchall())
    if BEGUN not in versions:
        return None
    return {
        path: StateFile(version, bytes(db.execute(_FILE, (agent_id, folder, path)).fetchone()[0]))
        for path, version in versions.items()
        if path != BEGUN and known.get(path) != version
    }


def begin_state(db: Database, agent_id: str, folder: str, files: Mapping[str, bytes]) -> None:
    """All the files at once, or none where the folder was begun."""
    if db.execute(_ADD, (agent_id, folder, BEGUN, 1, b"")).rowcount:
        for path, content in files.items():
            db.execute(_ADD, (agent_id, folder, path, 1, content))


def put_state(db: Database, agent_id: str, folder: str, path: str, file: StateFile) -> None:
    """Compare and swap. Raises StateChanged."""
    where = (agent_id, folder, path)
    if file.version == 1:
        written = db.execute(_ADD, (*where, 1, file.content)).rowcount
    else:
        written = db.execute(_REPLACE, (file.version, file.content, *where, file.version - 1)).rowcount
    if not written:
        raise StateChanged(f"'{path}' was written by another gateway meanwhile.", fix="Read it again.")


def drop_states(db: Database, folders: Collection[str]) -> int:
    """How many folders were there, of all agents."""
    rows = [row for folder in folders for row in db.execute(_DROP, (folder,)).fetchall()]
    return sum(row[0] == BEGUN for row in rows)


def publish(db: Database, bundle: Bundle) -> None:
    """Older bundles of the agent go: a gateway that has none fetches the one that counts."""
    b = bundle
    db.execute(_ADD_BUNDLE, (b.digest, b.agent_id, b.content, b.at, b.author))
    db.execute(_PUBLISH, (b.agent_id, b.digest))
    db.execute(_DROP_BUNDLES, (b.agent_id,))


def unpublish(db: Database, agent_id: str) -> None:
    """Raises NotFound."""
    if not db.execute(_UNPUBLISH, (agent_id,)).rowcount:
        raise NotFound(
            f"Agent '{agent_id}' is not published.", fix="`postroom agent list` shows where each comes from."
        )
    db.execute(_DROP_BUNDLES, (agent_id,))


def published(db: Database) -> dict[str, str]:
    """Digests by agent."""
    return dict(db.execute(_PUBLISHED).fetchall())


def bundle(db: Database, digest: str) -> Bundle:
    """Raises NotFound."""
    row = db.execute(_BUNDLE, (digest,)).fetchone()
    if row is None:
        raise NotFound(f"There is no bundle {digest[:12]}.", fix="Publish the agent again.")
    agent_id, digest_, content, author, at = row
    return Bundle(agent_id, digest_, bytes(content), author, at)
