"""The source `grpc`: the methods of a gRPC server as functions, by reflection or from a file of descriptors."""

from doorward_grpc.source import GRPC

__all__ = ["GRPC"]
