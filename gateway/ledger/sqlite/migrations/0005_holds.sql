-- What one gateway of several holds: a connection to listen on, or its life.
CREATE TABLE holds (
    name  TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID;

ALTER TABLE deliveries ADD COLUMN owner TEXT NOT NULL DEFAULT '';  -- who sends it, or sent it last
