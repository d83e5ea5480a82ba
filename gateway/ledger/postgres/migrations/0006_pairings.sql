-- Strangers who were told a code, until the owner settles it or its time is over.
CREATE TABLE pairings (
    code          TEXT COLLATE "C" PRIMARY KEY,
    connection_id TEXT COLLATE "C" NOT NULL,
    route_id      TEXT COLLATE "C" NOT NULL,
    sender_id     TEXT COLLATE "C" NOT NULL,
    name          TEXT COLLATE "C" NOT NULL,
    expires_at    DOUBLE PRECISION NOT NULL,
    UNIQUE (route_id, sender_id)
);
