-- Agents' state where gateways share it, a file each. `folder` is whose it is, as below an agent's `state/`; a row with
-- an empty path says that the folder was begun.
CREATE TABLE states (
    agent_id TEXT NOT NULL,
    folder   TEXT NOT NULL,
    path     TEXT NOT NULL,
    version  INTEGER NOT NULL,
    content  BLOB NOT NULL,
    PRIMARY KEY (agent_id, folder, path)
);

-- Agents as they were published: archives by their digest, and which one of an agent counts.
CREATE TABLE bundles (
    digest   TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    content  BLOB NOT NULL,
    at       REAL NOT NULL,
    author   TEXT NOT NULL
);
CREATE TABLE published (
    agent_id TEXT PRIMARY KEY,
    digest   TEXT NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER published_added AFTER INSERT ON published
BEGIN UPDATE config SET version = version + 1; END;
CREATE TRIGGER published_removed AFTER DELETE ON published
BEGIN UPDATE config SET version = version + 1; END;
CREATE TRIGGER published_changed AFTER UPDATE ON published WHEN old.digest IS NOT new.digest
BEGIN UPDATE config SET version = version + 1; END;
