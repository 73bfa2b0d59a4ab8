"""The source `openapi`: OpenAPI 3.x and Swagger 2.0 documents as functions."""

from doorward_openapi.source import OpenAPI

__all__ = ["OpenAPI"]
