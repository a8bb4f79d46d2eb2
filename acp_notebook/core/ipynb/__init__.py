"""Notebook files that cannot be lost: what an agent reads of one, and what becomes of what it writes.

Pure: texts in, texts out; no file, no page, no clock, no chance. `read` finds every part of a file's
text, `as_agent_sees` shows it, `merge` takes back what the agent writes, and `compare` says what that
changes. What nobody changed is copied, never written anew.
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
    drastic,
    metadata_changes,
    operations,
)
from .create import created
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
    "created",
    "drastic",
    "merge",
    "metadata_changes",
    "operations",
    "read",
    "source_hash",
]
