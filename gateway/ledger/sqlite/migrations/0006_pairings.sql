-- Strangers who were told a code, until the owner settles it or its time is over.
CREATE TABLE pairings (
    code          TEXT PRIMARY KEY,
    connection_id TEXT NOT NULL,
    route_id      TEXT NOT NULL,
    sender_id     TEXT NOT NULL,
    name          TEXT NOT NULL,
    expires_at    REAL NOT NULL,
    UNIQUE (route_id, sender_id)
) WITHOUT ROWID;
