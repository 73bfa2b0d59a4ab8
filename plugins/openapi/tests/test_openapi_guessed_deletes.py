"""Operations that are taken for deletions by convention."""

from __future__ import annotations

import pytest
from doorward.values import effect
from doorward_text import cards

pytestmark = pytest.mark.anyio


async def compiled(api, document, path, node, method="post"):
    (function,) = (await api(document({path: {method: {"responses": {"200": {}}, **node}}}))).functions.values()
    return function


@pytest.mark.parametrize(
    ("path", "node"),
    [
        ("/files/delete", {}),
        ("/files/{id}/remove", {}),
        ("/chat.delete", {}),
        ("/files:purge", {}),
        ("/deleteUser", {}),
        ("/items/delete_batch", {}),
        ("/users/{id}", {"operationId": "deleteUser"}),
        ("/users/{id}", {"operationId": "users_delete"}),
        ("/users/{id}", {"summary": "Deletes a user"}),
    ],
)
@pytest.mark.parametrize("method", ["post", "put"])
async def test_openapi_what_is_called_a_deletion_is_destructive_by_a_guess(api, document, path, node, method):
    """The card says that it is a guess."""
    function = await compiled(api, document, path, node, method)
    assert (function.destructive, effect(function)) == (False, "destructive")
    assert "destructive by a guess" in cards.describe(function, {}.get, module="api")


@pytest.mark.parametrize(
    ("path", "node", "of"),
    [
        ("/users", {"summary": "Create a user", "description": "Delete it later."}, "write"),
        ("/users/undelete", {}, "write"),
        ("/deleted", {}, "write"),
        ("/removals", {"operationId": "createRemoval"}, "write"),
    ],
)
async def test_openapi_what_only_speaks_of_deletions_is_a_write(api, document, path, node, of):
    """Other words, and other places."""
    assert effect(await compiled(api, document, path, node)) == of


async def test_openapi_what_a_method_says_is_no_guess(api, document):
    """A DELETE is destructive for certain, and a HEAD reads."""
    deletes = await compiled(api, document, "/users/{id}/delete", {}, "delete")
    assert (deletes.destructive, deletes.guessed_destructive) == (True, False)
    assert effect(await compiled(api, document, "/users/delete", {}, "head")) == "read"


@pytest.mark.parametrize(
    ("path", "node", "of"),
    [
        ("/remove/lock/{id}", {"operationId": "removeLock"}, "destructive"),
        ("/users/delete", {}, "destructive"),
        ("/removeTag", {}, "destructive"),
        ("/users/{id}", {"summary": "Delete a user"}, "read"),
        ("/pending_delete", {"operationId": "listPendingDelete"}, "read"),
        ("/deleted", {"operationId": "getDeleted"}, "read"),
    ],
)
async def test_openapi_a_get_that_deletes_is_no_read(api, document, path, node, of):
    """It is not repeated, and a plan withholds it. What only ends with the word, or is described with it, reads."""
    function = await compiled(api, document, path, node, "get")
    assert (effect(function), function.read_only, function.idempotent) == (of, of == "read", of == "read")
