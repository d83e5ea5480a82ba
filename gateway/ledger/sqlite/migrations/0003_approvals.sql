-- What a model wants to write, and what a person said to it.
CREATE TABLE approvals (
    id         TEXT PRIMARY KEY,
    state      TEXT NOT NULL,
    created_at REAL NOT NULL,
    data       TEXT NOT NULL
) WITHOUT ROWID;
