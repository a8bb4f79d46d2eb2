"""Show notebook files to an agent, and merge what it writes without losing anything.

Pure: text in, text out; no files, pages, clocks or random values. `read` locates every part of a file's text,
`as_agent_sees` renders it for an agent, `merge` merges what the agent writes, and `compare` says what that
changes. Unchanged parts are copied as text, never serialised again.
"""

from .cell_ids import source_hash
from .compare import (
    CellChange,
    Comparison,
    Delete,
    Insert,
    Move,
    Operation,
    Replace,
    SetMetadata,
    all_metadata,
    changes,
    compare,
    drastic_reason,
    metadata_changes,
    operations,
)
from .create import create_notebook
from .errors import Clash, Conflict, Invalid
from .merge import Merged, merge
from .parse import Data, Notebook, read
from .views import View, as_agent_sees

__all__ = [
    "CellChange",
    "Clash",
    "Comparison",
    "Conflict",
    "Data",
    "Delete",
    "Insert",
    "Invalid",
    "Merged",
    "Move",
    "Notebook",
    "Operation",
    "Replace",
    "SetMetadata",
    "View",
    "all_metadata",
    "as_agent_sees",
    "changes",
    "compare",
    "create_notebook",
    "drastic_reason",
    "merge",
    "metadata_changes",
    "operations",
    "read",
    "source_hash",
]
