-- Times are seconds since the epoch. Rows of messages, turns, deliveries, sessions and runs name their conversation by
-- its number, so that a chat that moves takes everything along.

CREATE TABLE conversations (
    id            INTEGER PRIMARY KEY,
    key           TEXT NOT NULL UNIQUE,
    connection_id TEXT NOT NULL,
    chat_id       TEXT NOT NULL,
    thread_id     TEXT,
    channel       TEXT NOT NULL,
    scope         TEXT NOT NULL,
    title         TEXT NOT NULL,
    messages      INTEGER NOT NULL,
    last_at       REAL NOT NULL,
    epoch         INTEGER NOT NULL DEFAULT 0,
    hold_until    REAL NOT NULL DEFAULT 0,  -- the longest hold asked for by what waits
    served_at     REAL NOT NULL DEFAULT 0,  -- when its last turn ended: it queues behind those who waited meanwhile
    turn_at       REAL,                     -- when there is a turn to claim, a running one's lease included; null: none
    delivery_at   REAL                      -- when its first open delivery is due, or its send's lease ends; null: none
);
CREATE INDEX conversations_by_turn ON conversations (turn_at, epoch) WHERE turn_at IS NOT NULL;
CREATE INDEX conversations_by_delivery ON conversations (delivery_at) WHERE delivery_at IS NOT NULL;
CREATE INDEX conversations_by_last ON conversations (last_at);
CREATE INDEX conversations_by_chat ON conversations (connection_id, chat_id);

CREATE TABLE messages (
    seq          INTEGER PRIMARY KEY,       -- the order of acceptance
    id           TEXT NOT NULL UNIQUE,
    conversation INTEGER NOT NULL,
    state        TEXT NOT NULL,             -- waiting, claimed, answered, ignored, dead
    reason       TEXT NOT NULL DEFAULT '',
    turn_id      TEXT,                      -- the turn that took it last; null: none yet, or it was put back
    mentions     INTEGER NOT NULL,
    accepted_at  REAL NOT NULL,
    data         BLOB NOT NULL
);
CREATE INDEX messages_by_conversation ON messages (conversation);
CREATE INDEX messages_waiting ON messages (conversation) WHERE state = 'waiting';
CREATE INDEX messages_by_turn ON messages (turn_id) WHERE turn_id IS NOT NULL;

-- Every dedupe key ever seen. It outlives the message, for a provider may send again after any time.
CREATE TABLE seen (
    connection_id TEXT NOT NULL,
    key           TEXT NOT NULL,
    message_id    TEXT NOT NULL,
    PRIMARY KEY (connection_id, key)
) WITHOUT ROWID;

-- When a sender last wrote on a connection; an empty sender is anyone.
CREATE TABLE arrivals (
    connection_id TEXT NOT NULL,
    sender_id     TEXT NOT NULL,
    at            REAL NOT NULL,
    PRIMARY KEY (connection_id, sender_id)
) WITHOUT ROWID;

CREATE TABLE turns (
    id           TEXT PRIMARY KEY,
    conversation INTEGER NOT NULL,
    position     INTEGER NOT NULL,          -- the seq of its first message
    state        TEXT NOT NULL,             -- queued, running, answered, ignored, dead, discarded
    attempt      INTEGER NOT NULL,          -- how often it was claimed
    owner        TEXT NOT NULL DEFAULT '',
    epoch        INTEGER NOT NULL DEFAULT 0,
    ready_at     REAL NOT NULL,             -- queued: not to be claimed before
    lease_until  REAL NOT NULL DEFAULT 0,   -- running: whose it is until then
    ended_at     REAL,
    error        TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX turns_open ON turns (conversation, position) WHERE state IN ('queued', 'running');
CREATE INDEX turns_dead ON turns (ended_at) WHERE state = 'dead';

-- Finished side effects of a turn, so that trying it again does not repeat them.
CREATE TABLE journal (
    turn_id TEXT NOT NULL,
    key     TEXT NOT NULL,
    result  TEXT NOT NULL,
    PRIMARY KEY (turn_id, key)
) WITHOUT ROWID;

CREATE TABLE deliveries (
    seq           INTEGER PRIMARY KEY,      -- the order of sending
    id            TEXT NOT NULL UNIQUE,
    conversation  INTEGER NOT NULL,
    connection_id TEXT NOT NULL,
    turn_id       TEXT NOT NULL,            -- empty: said outside any turn
    call          BLOB NOT NULL,
    purpose       TEXT NOT NULL,
    status        TEXT NOT NULL,
    attempt       INTEGER NOT NULL DEFAULT 0,
    ambiguous     INTEGER NOT NULL DEFAULT 0,
    created_at    REAL NOT NULL,
    due_at        REAL NOT NULL,            -- pending: when to send; sending: when its lease ends
    ended_at      REAL,
    provider_ref  TEXT NOT NULL DEFAULT '',
    error         TEXT NOT NULL DEFAULT ''
);
CREATE INDEX deliveries_by_conversation ON deliveries (conversation);
CREATE INDEX deliveries_open ON deliveries (conversation) WHERE status IN ('pending', 'sending');
CREATE INDEX deliveries_dead ON deliveries (ended_at) WHERE status IN ('failed', 'unknown');
CREATE INDEX deliveries_by_ref ON deliveries (connection_id, provider_ref) WHERE provider_ref != '';

-- Status reports that came before the answer to the call they are about; kept for an hour.
CREATE TABLE early_reports (
    connection_id TEXT NOT NULL,
    provider_ref  TEXT NOT NULL,
    state         TEXT NOT NULL,
    error         TEXT NOT NULL,
    at            REAL NOT NULL,
    PRIMARY KEY (connection_id, provider_ref)
) WITHOUT ROWID;
CREATE INDEX early_reports_by_age ON early_reports (at);

CREATE TABLE sessions (
    id           TEXT PRIMARY KEY,
    conversation INTEGER NOT NULL,
    agent_id     TEXT NOT NULL,
    history      BLOB NOT NULL,
    started_at   REAL NOT NULL,
    last_at      REAL NOT NULL
);
CREATE INDEX sessions_by_agent ON sessions (conversation, agent_id, last_at);

CREATE TABLE runs (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    conversation  INTEGER NOT NULL,
    turn_id       TEXT NOT NULL,
    agent_id      TEXT NOT NULL,
    route_id      TEXT NOT NULL,
    model         TEXT NOT NULL,
    outcome       TEXT NOT NULL,
    steps         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    started_at    REAL NOT NULL,
    finished_at   REAL NOT NULL,
    detail        TEXT NOT NULL
);
CREATE INDEX runs_by_conversation ON runs (conversation);

CREATE TABLE connections (
    id      TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    data    TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE secrets (
    connection_id TEXT NOT NULL,
    name          TEXT NOT NULL,
    sealed        BLOB NOT NULL,
    PRIMARY KEY (connection_id, name)
) WITHOUT ROWID;

-- Scope and access are short JSON lists: a hundred thousand routes are read at once.
CREATE TABLE routes (
    id            TEXT PRIMARY KEY,
    connection_id TEXT NOT NULL,
    agent_id      TEXT NOT NULL,
    scope         TEXT NOT NULL,
    access        TEXT NOT NULL,
    fallback      INTEGER NOT NULL,
    enabled       INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX routes_by_connection ON routes (connection_id);

CREATE TABLE deployments (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at     REAL NOT NULL,
    author TEXT NOT NULL,
    action TEXT NOT NULL,
    before BLOB NOT NULL,
    after  BLOB NOT NULL
);

-- One row: grows with every change of connections, secrets or routes, whoever made it.
CREATE TABLE config (version INTEGER NOT NULL);
INSERT INTO config (version) VALUES (0);

CREATE TRIGGER connections_added AFTER INSERT ON connections
BEGIN UPDATE config SET version = version + 1; END;
CREATE TRIGGER connections_removed AFTER DELETE ON connections
BEGIN UPDATE config SET version = version + 1; END;
CREATE TRIGGER connections_changed AFTER UPDATE ON connections WHEN old.data IS NOT new.data
BEGIN UPDATE config SET version = version + 1; END;

CREATE TRIGGER secrets_added AFTER INSERT ON secrets
BEGIN UPDATE config SET version = version + 1; END;
CREATE TRIGGER secrets_removed AFTER DELETE ON secrets
BEGIN UPDATE config SET version = version + 1; END;
CREATE TRIGGER secrets_changed AFTER UPDATE ON secrets WHEN old.sealed IS NOT new.sealed
BEGIN UPDATE config SET version = version + 1; END;

CREATE TRIGGER routes_added AFTER INSERT ON routes
BEGIN UPDATE config SET version = version + 1; END;
CREATE TRIGGER routes_removed AFTER DELETE ON routes
BEGIN UPDATE config SET version = version + 1; END;
CREATE TRIGGER routes_changed AFTER UPDATE ON routes
WHEN (old.connection_id, old.agent_id, old.scope, old.access, old.fallback, old.enabled)
    IS NOT (new.connection_id, new.agent_id, new.scope, new.access, new.fallback, new.enabled)
BEGIN UPDATE config SET version = version + 1; END;
