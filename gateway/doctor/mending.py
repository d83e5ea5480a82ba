"""What `postroom doctor --fix` does by itself: nothing that loses anything, or that anybody else would notice."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence

from builder_skill.system_skill import install
from channels.errors import PostroomError
from gateway.doctor.examine import Area
from gateway.doctor.home import open_files, unfinished
from gateway.settings import Settings


def mend(settings: Settings, areas: Sequence[Area]) -> list[str]:
    """Put right what is safe to, of what was found; what was done, a line each."""
    told = {finding.code for area in areas for finding in area.findings if finding.fix}
    done: list[str] = []
    for code, put_right in MENDS.items():
        if code in told:
            try:
                done += put_right(settings)
            except (OSError, PostroomError) as error:
                done.append(f"{code} can't be put right: {error}")
    return done


def _home(settings: Settings) -> list[str]:
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings.home.chmod(0o700)
    return ["The home folder is yours alone."]


def _private(settings: Settings) -> list[str]:
    seen = [*open_files(settings.home)]
    for path in seen:
        path.chmod(0o600)
    return [f"{path.name} is yours alone." for path in seen]


def _agents(settings: Settings) -> list[str]:
    settings.agents_dir.mkdir(parents=True, exist_ok=True)
    return ["There is a place for agents."]


def _unfinished(settings: Settings) -> list[str]:
    left = [*unfinished(settings.home)]
    for path in left:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    return [f"{path.name} is removed." for path in left]


def _builder(settings: Settings) -> list[str]:
    install(settings.home)
    return ["The builder's skill is as it ships."]


MENDS: Mapping[str, Callable[[Settings], list[str]]] = {
    "home": _home,
    "private_files": _private,
    "agents_folder": _agents,
    "unfinished_files": _unfinished,
    "builder_skill": _builder,
}
"""By the code of the finding."""
