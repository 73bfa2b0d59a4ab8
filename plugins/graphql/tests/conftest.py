"""A shop: a real GraphQL server (Ariadne) on loopback; and a server that answers whatever a test wants."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from doorward import Call, Compiled, Function, Reply, ServerContext
from doorward_graphql import GraphQL
from graphql import GraphQLError

SDL = '''
type Query {
  book(id: ID!): Book
  books(first: Int = 2, after: String, last: Int, before: String, sort: Sort = TITLE): BookConnection!
  search(text: String!): [Hit!]!
  node(id: ID!): Node
  echo(in: Everything, class: String, _id: Int, select: String, when: DateTime): String!
  today: DateTime!
  old(fine: Int, worse: Int @deprecated(reason: "use fine")): Int @deprecated(reason: "use today")
  half: Half!
  secret: String!
  limited: Int
  home: Query!
}
type Mutation {
  addReview(bookId: ID!, input: ReviewInput!): ReviewPayload!
  deleteBook(id: ID!): Boolean!
  book(id: ID!, title: String): Book
  cover(file: Upload!): Int
}
type Subscription { added: Book }
scalar DateTime
scalar Upload
scalar Any
enum Sort { TITLE, YEAR }
input Everything { and: [Everything!], year: Range, any: Any, sort: Sort, tags: [[String]], n: Int! = 5, file: Upload, x: Float }
input Range @oneOf { eq: Int, in: [Int!] }
input ReviewInput { stars: Int! = 5, text: String }
interface Node { id: ID! }
"""A book. It has pages."""
type Book implements Node {
  id: ID!, "What stands on its cover" title: String!, author: Author!, reviews(first: Int!): [Review!]!
  published: DateTime, old: Int @deprecated, shop: Query
}
type Author implements Node { id: ID!, name: String!, books: [Book!]! }
type Review implements Node { id: ID!, stars: Int!, text: String, book: Book! }
union Hit = Book | Author
type BookConnection { totalCount: Int!, edges: [BookEdge!]!, pageInfo: PageInfo! }
type BookEdge { cursor: String!, node: Book! }
type PageInfo { hasNextPage: Boolean!, hasPreviousPage: Boolean!, startCursor: String, endCursor: String }
type ReviewPayload { review: Review, query: Query }
type Half { fine: Int, broken: Int }
'''

BOOKS = [{"id": str(n), "title": f"Book {n}", "published": "2026-01-01T00:00:00Z"} for n in range(1, 6)]
AUTHOR = {"id": "a1", "name": "Ada"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _helpers(host: Any) -> None:
    """Programs have the helpers that make calls."""
    host.install_real("program_helpers", "text")


@pytest.fixture
def sdl() -> str:
    """The schema of the shop."""
    return SDL


def _app(introspection: bool = True) -> Any:
    """The shop as an ASGI application."""
    import ariadne
    from ariadne.asgi import GraphQL as Server

    query, mutation, book = ariadne.QueryType(), ariadne.MutationType(), ariadne.ObjectType("Book")

    @query.field("books")
    def books(
        *_: Any, first: int | None = None, after: str = "0", last: int | None = None, before: str = "6", sort: Any
    ) -> Any:
        inside = [one for one in BOOKS if int(after) < int(one["id"]) < int(before)]
        found = inside[-last:] if last else inside[:first]
        info = {
            "hasNextPage": found[-1] != BOOKS[-1],
            "hasPreviousPage": found[0] != BOOKS[0],
            "startCursor": found[0]["id"],
            "endCursor": found[-1]["id"],
        }
        return {"totalCount": 5, "edges": [{"cursor": one["id"], "node": one} for one in found], "pageInfo": info}

    @query.field("secret")
    def secret(_: Any, info: Any) -> str:
        if info.context["request"].headers.get("authorization") != "Bearer s3cr3t-token":
            raise GraphQLError("log in first", extensions={"code": "UNAUTHENTICATED"})
        return "open"

    @query.field("limited")
    def limited(*_: Any) -> int:
        raise GraphQLError("slow down", extensions={"code": "RATE_LIMITED"})

    def fails(*_: Any) -> int:
        raise GraphQLError("it is broken")

    query.set_field("book", lambda *_, id: next((one for one in BOOKS if one["id"] == id), None))
    query.set_field("search", lambda *_, text: [{"__typename": "Book", **BOOKS[0]}, {"__typename": "Author", **AUTHOR}])
    query.set_field("node", lambda *_, id: {"__typename": "Author", **AUTHOR})
    query.set_field("echo", lambda *_, **given: json.dumps(given, sort_keys=True))
    query.set_field("today", lambda *_: "2026-11-22T00:00:00Z")
    query.set_field("half", lambda *_: {"fine": 1})
    query.set_field("home", lambda *_: {})
    book.set_field("author", lambda *_: AUTHOR)
    book.set_field("reviews", lambda *_, first: [{"id": f"r{n}", "stars": n} for n in range(first)])
    half = ariadne.ObjectType("Half")
    half.set_field("broken", fails)
    mutation.set_field(
        "addReview", lambda *_, bookId, input: {"review": {"id": "r9", **input, "book": BOOKS[int(bookId) - 1]}}
    )
    mutation.set_field("deleteBook", lambda *_, id: True)
    mutation.set_field("book", lambda *_, id, **given: {"id": id, "title": f"{given}"})
    kinds = [ariadne.InterfaceType("Node", lambda value, *_: value["__typename"])]
    kinds.append(ariadne.UnionType("Hit", lambda value, *_: value["__typename"]))  # type: ignore[arg-type]
    schema = ariadne.make_executable_schema(SDL, query, mutation, book, half, *kinds)
    return Server(schema, introspection=introspection)


class _Running:
    """An ASGI application on loopback."""

    def __init__(self, app: Any) -> None:
        import uvicorn

        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/graphql"
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """The server closes the socket itself. Its thread is not joined: a clock that a test has moved may have put its next
        turn off."""
        self._server.should_exit = True


@pytest.fixture(scope="session")
def shop() -> Iterator[str]:
    """The URL of the shop."""
    running = _Running(_app())
    yield running.url
    running.close()


@pytest.fixture(scope="session")
def closed_shop() -> Iterator[str]:
    """The URL of a shop that tells nobody its schema."""
    running = _Running(_app(introspection=False))
    yield running.url
    running.close()


class Upstream:
    """A server that answers every request with `answers`, one after the other, the last one for ever: (status, headers,
    body), or what makes these of a request."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.answers: list[Any] = [(200, {}, {"data": None})]
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                seen = {
                    "method": self.command,
                    "path": self.path,
                    "headers": {name.lower(): value for name, value in self.headers.items()},
                    "body": body.decode(),
                }
                upstream.seen.append(seen)
                found = upstream.answers.pop(0) if len(upstream.answers) > 1 else upstream.answers[0]
                status, extra, content = found(seen) if callable(found) else found
                content = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **extra}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = answer

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/graphql"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


class Api:
    """A source that was compiled, and its functions by name."""

    def __init__(self, source: GraphQL, compiled: Compiled) -> None:
        self.source = source
        self.compiled = compiled
        self.functions: dict[str, Function] = {f.name: f for f in [*compiled.functions, *source.offers]}

    async def reply(self, name: str, /, **arguments: Any) -> Reply:
        reply = await self.source.call(Call(self.functions[name], arguments))
        return reply if isinstance(reply, Reply) else Reply(reply)

    async def call(self, name: str, /, **arguments: Any) -> Any:
        return (await self.reply(name, **arguments)).value


@pytest.fixture
async def api(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Callable[..., Any]]:
    """Makes an Api of settings; `sdl` is the text of a schema, instead of an introspection."""
    opened: list[GraphQL] = []

    async def make(
        url: str = "http://127.0.0.1:9/",
        *,
        sdl: str | bytes = "",
        auth: Any = None,
        told: list[str] | None = None,
        **settings: Any,
    ) -> Api:
        if sdl:
            (tmp_path / "schema.graphql").write_bytes(sdl if isinstance(sdl, bytes) else sdl.encode())
            settings["schema"] = "schema.graphql"
        known: dict[str, Any] = {}
        context = ServerContext(
            "shop",
            GraphQL.Settings.model_validate({"url": url, "retries": 0, **settings}),
            tmp_path,
            tmp_path / "state",
            lambda: auth,
            changed=lambda: (told if told is not None else []).append("changed"),
            definition=lambda name: known.get(name),
        )
        opened.append(source := GraphQL(context))
        await source.fingerprint()
        compiled = await source.compile()
        known.update(compiled.definitions)
        return Api(source, compiled)

    yield make
    for source in opened:
        await source.close()
