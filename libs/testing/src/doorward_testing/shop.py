"""A server, called `other`, whose functions are alike, so that only use tells which one is meant."""

from __future__ import annotations

from typing import Any

from doorward import ApiError, Call, Compiled, Function, ServerContext, Settings

CONFIG = """
cache = "none"
executor = "inprocess"
plugins = []
[servers.other]
source = "shop"
[principals."*"]
servers = ["*"]
"""

NEEDS = {
    "type": "object",
    "properties": {"order_key": {"type": "string"}, "state": {"enum": ["open", "closed"]}},
    "required": ["order_key", "state"],
}
ORDER = {"type": "object", "properties": {"number": {"type": "string"}, "state": {"type": "string"}}}


class Shop:
    """Orders have numbers, by which other functions know them under another name."""

    Settings = Settings

    def __init__(self, server: ServerContext[Any]) -> None:
        self.name = server.name

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        def one(name: str, summary: str, **more: Any) -> Function:
            return Function(self.name, name, name, summary, **more)

        return Compiled(
            [
                one("list_orders", "Orders of customers", returns={"type": "array", "items": ORDER}, read_only=True),
                one("read_orders", "Orders of customers, archived", read_only=True),
                one("ship", "Send a parcel to a customer", parameters=NEEDS),
                one("refund", "Send money to a customer", parameters=NEEDS),
                one("delete_orders", "Delete orders of customers", route="DELETE /orders"),
                one("fail", "Fail with orders of customers"),
            ]
        )

    async def call(self, call: Call) -> Any:
        match call.function.name:
            case "list_orders":
                return [{"number": f"secret-order-{n}", "state": "open"} for n in range(5)]
            case "fail":
                raise ApiError("no", status=500)
        return {"done": True}

    async def close(self) -> None:
        pass
