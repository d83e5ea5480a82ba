from __future__ import annotations

import os
import time
from pathlib import Path

from gateway.ledger.records import Finish
from gateway.ledger.sqlite import open_sqlite
from gateway.retention import DAY, keep_to, prune_once
from gateway.settings import Settings
from tests.gateway.ledger.support import claim_one, message


async def test_old_rows_and_files_go_and_what_an_inbox_still_has_stays(tmp_path: Path) -> None:
    settings = Settings(tmp_path, retention_days=1)
    now = time.time()
    old, shared, young = (tmp_path / f"attachments/aa/{name}" for name in ("old", "shared", "young"))
    old.parent.mkdir(parents=True)
    (tmp_path / "inbox/dana").mkdir(parents=True)
    for path in (old, shared, young):
        path.write_bytes(b"x")
        os.link(path, tmp_path / "inbox/dana" / path.name)
        os.utime(path, (now - 2 * DAY, now if path is young else now - 2 * DAY))
    async with open_sqlite(settings.ledger_path, worker=True, clock=lambda: now - 2 * DAY) as ledger:
        for n in range(450):
            await ledger.accept([message(n)])
        while turns := (await ledger.claim("w1", 1)).turns:
            await ledger.finish(turns[0], Finish("answered"))
    async with open_sqlite(settings.ledger_path, worker=True) as ledger:
        await ledger.accept([message(1000)])
        await claim_one(ledger)
        assert await prune_once(settings, ledger, now - DAY) == 450 + 4
        assert await prune_once(settings, ledger, now - DAY) == 0
        assert [p.name for p in (tmp_path / "inbox/dana").iterdir()] == ["young"]
        assert [p.name for p in old.parent.iterdir()] == ["young"]
        await keep_to(Settings(tmp_path), ledger)
