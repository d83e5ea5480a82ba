-- Agents' state where gateways share it, a file each. `folder` is whose it is, as below an agent's `state/`; a row with
-- an empty path says that the folder was begun.
CREATE TABLE states (
    agent_id TEXT COLLATE "C" NOT NULL,
    folder   TEXT COLLATE "C" NOT NULL,
    path     TEXT COLLATE "C" NOT NULL,
    version  BIGINT NOT NULL,
    content  BYTEA NOT NULL,
    PRIMARY KEY (agent_id, folder, path)
);

-- Agents as they were published: archives by their digest, and which one of an agent counts.
CREATE TABLE bundles (
    digest   TEXT COLLATE "C" PRIMARY KEY,
    agent_id TEXT COLLATE "C" NOT NULL,
    content  BYTEA NOT NULL,
    at       DOUBLE PRECISION NOT NULL,
    author   TEXT COLLATE "C" NOT NULL
);
CREATE TABLE published (
    agent_id TEXT COLLATE "C" PRIMARY KEY,
    digest   TEXT COLLATE "C" NOT NULL
);

CREATE TRIGGER published_come_and_gone AFTER INSERT OR DELETE ON published
FOR EACH ROW EXECUTE FUNCTION config_changed();
CREATE TRIGGER published_changed AFTER UPDATE ON published
FOR EACH ROW WHEN (old.digest IS DISTINCT FROM new.digest) EXECUTE FUNCTION config_changed();
