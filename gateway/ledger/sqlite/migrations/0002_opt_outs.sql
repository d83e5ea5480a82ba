-- People who asked for no more messages on a connection.
CREATE TABLE opt_outs (
    connection_id TEXT NOT NULL,
    person        TEXT NOT NULL,
    at            REAL NOT NULL,
    PRIMARY KEY (connection_id, person)
) WITHOUT ROWID;
