"""Schemas whose fields carry their meaning, and the types that columns have."""

import pyarrow as pa

STRING = pa.string()
INT = pa.int32()
ID = pa.int64()


def documented_schema(columns: dict[str, tuple[pa.DataType, str]]) -> pa.Schema:
    """Column -> (type, what it holds) as a schema whose fields carry the words as ``doc``."""
    return pa.schema([pa.field(name, kind, metadata={"doc": doc}) for name, (kind, doc) in columns.items()])
