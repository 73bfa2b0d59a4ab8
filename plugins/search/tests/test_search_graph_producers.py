"""Who gives what others need: by names of fields, by schemas, by routes; and never by accident."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Function
from doorward_search.graph.producers import Edge, edges
from hypothesis import given
from hypothesis import strategies as st

ID = {"type": "integer"}
PEOPLE = {
    "type": "object",
    "properties": {"page": ID, "results": {"type": "array", "items": {"type": "object", "properties": {"id": ID, "name": {"type": "string"}}}}},
}  # fmt: skip


def function(
    name: str, route: str = "", *needed: str, returns: Any = None, kind: str = "integer", **more: Any
) -> Function:
    parameters = {"type": "object", "properties": {each: {"type": kind} for each in needed}, "required": [*needed]}
    return Function(
        "s", name, name, parameters=parameters, returns=returns, route=route, read_only=route.startswith("GET"), **more
    )


def found(*functions: Function, **definitions: Any) -> dict[tuple[str, str], list[str]]:
    known: dict[tuple[str, str], list[str]] = {}
    for edge in edges(functions, definitions.get):
        known.setdefault((edge.function, edge.parameter), []).append(edge.producer)
    return known


FILMS = (
    function("get_search_person", "GET /search/person", returns=PEOPLE),
    function("get_search_movie", "GET /search/movie", returns=PEOPLE),
    function("get_person_popular", "GET /person/popular", returns=PEOPLE),
    function("get_person", "GET /person/{person_id}", "person_id", returns=PEOPLE["properties"]["results"]["items"]),
    function("get_person_movie_credits", "GET /person/{person_id}/movie_credits", "person_id", returns=PEOPLE),
)


def test_what_no_word_of_a_question_says() -> None:
    """A search names its thing in its route; the things in its answer are such things."""
    known = found(*FILMS)
    assert known["get_person_movie_credits", "person_id"][0] == "get_search_person"
    assert "get_search_movie" not in known["get_person_movie_credits", "person_id"]
    assert "get_person" not in known["get_person", "person_id"]


def test_nothing_is_said_of_answers() -> None:
    """Where a document has no schemas of results, the collection is likely to give its items."""
    plain = [Function(f.server, f.name, f.id, parameters=f.parameters, route=f.route, read_only=True) for f in FILMS]
    assert found(*plain)["get_person_movie_credits", "person_id"][0] == "get_search_person"


ITEM = {"type": "object", "properties": {"id": ID, "name": {"type": "string"}, "folder_id": ID}}


@pytest.mark.parametrize(
    ("producer", "consumer"),
    [
        (("GET /tv/{series_id}", "series_id"), ("POST /tv/{tv_id}/rate", "tv_id")),
        (("GET /tv/{series_id}.json", "series_id"), ("POST /tv/{tv_id}/rate", "tv_id")),
        (("GET /projects/{project_id_or_key}", "project_id_or_key"), ("GET /projects/{project_id}/mail", "project_id")),
        (
            ("GET /projects/{project_name_or_id}/logs", "project_name_or_id"),
            ("PUT /projects/{project_id}", "project_id"),
        ),
        (("GET /application_fees/{id}", "id"), ("POST /application_fees/{fee}/refunds", "fee")),
    ],
)
def test_who_needs_the_same_id_gives_none(producer: tuple[str, str], consumer: tuple[str, str]) -> None:
    """Whatever it is called there: what is picked by its id does not tell that id."""
    known = found(function("get", *producer, returns=ITEM), function("use", *consumer))
    assert known.get(("use", consumer[1]), []) == []


def test_who_needs_another_id_gives_one() -> None:
    """What is picked by its id tells those of others, and its own where a name or one of two fields is known."""
    known = found(
        function("get_file", "GET /files/{file_id}", "file_id", returns=ITEM),
        function("put_folder", "PUT /folders/{folder_id}", "folder_id"),
        function("get_user", "GET /users/{username}", "username", returns=PEOPLE["properties"]["results"]["items"]),
        function("put_user", "PUT /users/{user_id_or_name}", "user_id_or_name"),
    )
    assert known["put_folder", "folder_id"] == ["get_file"]
    assert known["put_user", "user_id_or_name"] == ["get_user"]


def test_who_makes_a_thing_at_its_path_chooses_its_name() -> None:
    """A name that is new comes from nobody; what the thing belongs to exists already."""
    known = found(
        function("get_folders", "GET /folders", returns=PEOPLE),
        function("get_files", "GET /folders/{folder_id}/files", "folder_id", returns=PEOPLE),
        function("create_file", "PUT /folders/{folder_id}/files/{file_id}", "folder_id", "file_id"),
        function("put_file", "PUT /folders/{folder_id}/files/{file_id}", "folder_id", "file_id"),
        function("create_or_update_file", "PUT /folders/{folder_id}/files/{file_id}", "folder_id", "file_id"),
    )
    assert known["create_file", "folder_id"] == ["get_folders"]
    assert ("create_file", "file_id") not in known
    assert known["put_file", "file_id"] == known["create_or_update_file", "file_id"] == ["get_files"]


def test_reads_by_a_guess_give_ids() -> None:
    """A search by POST is where an id comes from."""
    search = Function("s", "filter", route="POST /flows/filter", returns=PEOPLE, guessed_read=True)
    assert found(search, function("get_flow", "GET /flows/{id}", "id"))["get_flow", "id"] == ["filter"]


def test_a_thing_is_known_by_its_schema() -> None:
    """`$ref`s and the names of fields say what an object is, however deep it lies; the nearest is the surest."""
    artist = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "albums": {"type": "array", "items": {"$ref": "#/$defs/Album"}}},
    }
    answer = {
        "type": "object",
        "properties": {
            "artists": {
                "type": "object",
                "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/Artist"}}},
            }
        },
    }
    known = found(
        function("search", "GET /search", returns=answer),
        function("get_artists_albums", "GET /artists/{id}/albums", "id", kind="string"),
        function("get_album", "GET /albums/{id}", "id", kind="string"),
        Artist=artist,
        Album={"type": "object", "properties": {"id": {"type": "string"}}},
    )  # fmt: skip
    assert known == {("get_artists_albums", "id"): ["search"], ("get_album", "id"): ["search", "get_artists_albums"]}


def test_tools_without_routes() -> None:
    """What tools of an MCP server need and give is known by names alone."""
    order = {"type": "object", "properties": {"order_id": {"type": "string"}, "user_id": {"type": "string"}}}
    known = found(
        function("find_user_by_email", returns={"type": "object", "properties": {"user_id": {"type": "string"}}}),
        function("cancel_order", "", "order_id", kind="string"),
        Function("s", "list_orders", parameters=function("x", "", "user_id", kind="string").parameters, returns=order, read_only=True),
    )  # fmt: skip
    assert known == {("cancel_order", "order_id"): ["list_orders"]}


@pytest.mark.parametrize(
    ("key", "told"), [("order_id", "order_id"), ("orderId", "orderId"), ("order\n# id", "order_id"), ("id", "id")]
)
def test_a_field_is_told_by_its_own_name(key: str, told: str) -> None:
    """A program reads `orderId` where the result has that; what is no name is told by its words alone."""
    orders = {"type": "array", "items": {"type": "object", "properties": {key: {"type": "string"}}}}
    listing = function("list_orders", "GET /orders", returns=orders)
    (edge,) = edges([listing, function("cancel_order", "", "order_id", kind="string")], {}.get)
    assert (edge.producer, edge.field) == ("list_orders", told)


def test_types_tell_apart() -> None:
    """A number is not the text that is needed; who changes things is not asked for what one could look up."""
    owner = {
        "type": "object",
        "properties": {"owner": {"type": "object", "properties": {"id": ID, "login": {"type": "string"}}}},
    }
    (edge,) = edges(
        [
            function("list_repos", "GET /repos", returns=owner),
            function("create_repo", "POST /repos", returns=owner),
            function("get_issues", "GET /repos/{owner}/issues", "owner", kind="string"),
        ],
        {}.get,
    )
    assert edge._replace(confidence=1) == Edge("get_issues", "owner", "list_repos", "login", 1)


def test_other_arguments_need_nobody() -> None:
    """Words, choices and flags are the program's own to give."""
    chosen = {
        "type": "object",
        "properties": {"kind_id": {"enum": ["a", "b"]}, "query": {"type": "string"}},
        "required": ["kind_id", "query"],
    }
    assert found(*FILMS, Function("s", "look", parameters=chosen, route="GET /kinds")).keys() == found(*FILMS).keys()


SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["string", "id", "#/$defs/A", 7]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["type", "properties", "items", "$ref", "allOf", "anyOf", "id", "a_id", "required"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.slow
@given(parameters=SCHEMAS, returns=SCHEMAS, definition=SCHEMAS, route=st.text("/{}ai", max_size=12))
def test_any_schema_is_read(parameters: Any, returns: Any, definition: Any, route: str) -> None:
    """Whatever a document says, there is an answer."""
    given_ = parameters if isinstance(parameters, dict) else {"properties": parameters}
    functions = [
        Function("s", name, parameters=given_, returns=returns, route=f"GET {route}", read_only=True)
        for name in ("a", "b")
    ]
    assert isinstance(edges(functions, {"A": definition}.get), list)


@pytest.mark.slow
@pytest.mark.parametrize("many", [300])
def test_it_is_bounded(many: int) -> None:
    """A result of thousands of identifiers takes as many as are read, and eight functions are known for one argument."""
    wide = {"type": "object", "properties": {f"thing{n}_id": ID for n in range(3000)}}
    known = found(
        *(function(f"list_{n}", f"GET /v{n}", returns=wide) for n in range(many)),
        function("get", "GET /x/{thing1_id}", "thing1_id"),
    )
    assert [len(producers) for producers in known.values()] == [8]


def test_a_thing_may_be_shortened_or_have_a_role() -> None:
    """`repo` is the name of a repository where nothing is called so, and the user that owns it is its `owner`."""
    user = {"type": "object", "properties": {"login": {"type": "string"}}}
    repository = {"type": "object", "properties": {"name": {"type": "string"}, "owner": {"$ref": "#/$defs/User"}}}
    known = found(
        function("list_repos", "GET /repositories", returns={"type": "array", "items": {"$ref": "#/$defs/Repository"}}),
        function("list_issues", "GET /repos/{owner}/{repo}/issues", "owner", "repo", kind="string"),
        function("get_car", "GET /cars/{car_id}", "car_id"),
        function("list_cards", "GET /cards", returns={"type": "object", "properties": {"card_id": ID}}),
        function("list_cars", "GET /cars", returns={"type": "object", "properties": {"car_id": ID}}),
        Repository=repository,
        User=user,
    )
    assert known["list_issues", "repo"] == ["list_repos"]
    assert known["list_issues", "owner"] == ["list_repos"]
    assert known["get_car", "car_id"] == ["list_cars"]
