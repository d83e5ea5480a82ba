"""Who may do what: every request passes here. Writes need the session's token, pages carry a strict policy."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

from channels.errors import PostroomError
from gateway.console.keys import Person, Role
from gateway.console.stage import BASE, PERSON, Stage

COOKIE = "postroom"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
}

ANSWERS = frozenset({"preflight", "explain", "check", "rehearse", "deploy", "act", "save"})
"""Last parts of addresses that answer a form and can't be asked for by themselves."""

LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})


class Guard:
    """Wraps handlers: known host, logged in, role, token."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def reading(self, handler: Handler) -> Handler:
        """Anybody who is logged in."""
        return self._wrap(handler, "viewer", writes=False)

    def writing(self, handler: Handler, role: Role) -> Handler:
        """Who has the role, and shows the session's token."""
        return self._wrap(handler, role, writes=True)

    def open(self, handler: Handler) -> Handler:
        """Anybody: the way in."""

        async def answer(request: web.Request) -> web.StreamResponse:
            response = await handler(request) if self._known_host(request) else _plain(421, "Not this host.")
            response.headers.update(HEADERS)
            return response

        return answer

    def _wrap(self, handler: Handler, role: Role, *, writes: bool) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            response = await self._answer(request, handler, role, writes=writes)
            if not response.prepared:
                response.headers.update(HEADERS)
            return response

        return answer

    async def _answer(self, request: web.Request, handler: Handler, role: Role, *, writes: bool) -> web.StreamResponse:
        if not self._known_host(request):
            return _plain(421, "Not this host.")
        person = self._stage.keys.person(request.cookies.get(COOKIE, ""))
        if person is None:
            if writes or request.headers.get("HX-Request"):
                return _plain(401, "Log in again: postroom console link")
            return web.Response(status=303, headers={"Location": f"{BASE}/login"})
        request[PERSON] = person
        if writes and not await self._is_meant(request, person):
            return self._stage.page(
                request,
                "error.html",
                status=403,
                code="csrf",
                message="This form is too old.",
                fix="Load the page again.",
            )
        if not person.may(role):
            message = f"A {person.role} may not do this; it takes the role {role}."
            return self._stage.page(
                request, "error.html", status=403, code="role", message=message, fix="Ask the owner for another link."
            )
        try:
            return await handler(request)
        except PostroomError as error:
            if writes and not request.headers.get("HX-Request"):
                return self._stage.back(request, _page_before(request), error=error)
            status = 404 if error.code.endswith(("missing", "unknown", "not_found")) else 409
            return self._stage.page(
                request, "error.html", status=status, code=error.code, message=error.message, fix=error.fix
            )

    def _known_host(self, request: web.Request) -> bool:
        """Whether the page is asked for by a name of ours: another one may be somebody else's that leads here."""
        host = urlsplit(f"//{request.host}").hostname or ""
        own = urlsplit(self._stage.settings.public_url).hostname
        return host in LOCAL or host == own

    async def _is_meant(self, request: web.Request, person: Person) -> bool:
        """Whether the write comes from a page of ours: the token, and the origin where the browser says it."""
        origin = request.headers.get("Origin")
        if origin and urlsplit(origin).netloc != request.host:
            return False
        given = request.headers.get("X-CSRF") or str((await request.post()).get("csrf", ""))
        return hmac.compare_digest(given.encode(), person.csrf.encode())


def _page_before(request: web.Request) -> str:
    """The page that a form stood on, or the one it belongs to where that was itself the answer to a form."""
    path = urlsplit(request.headers.get("Referer", "")).path.removeprefix(f"{BASE}/")
    if not path or path.startswith("/"):
        return "now"
    above, _, last = path.rpartition("/")
    return above if last in ANSWERS and above else path


def _plain(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text)
