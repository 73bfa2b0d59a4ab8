"""The source `graphql`: the queries and mutations of a GraphQL API as functions."""

from doorward_graphql.source import GraphQL

__all__ = ["GraphQL"]
