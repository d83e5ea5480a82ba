-- Conversations that a person answers, and what people changed.
CREATE TABLE takeovers (
    conversation_key TEXT PRIMARY KEY,
    person           TEXT NOT NULL,
    at               REAL NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER takeovers_added AFTER INSERT ON takeovers
BEGIN UPDATE config SET version = version + 1; END;
CREATE TRIGGER takeovers_removed AFTER DELETE ON takeovers
BEGIN UPDATE config SET version = version + 1; END;

CREATE TABLE audit (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    at     REAL NOT NULL,
    person TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    before TEXT NOT NULL,
    after  TEXT NOT NULL
);
