"""Make a notebook of the code that an agent ran, with the user's cells that it depends on.

Pure: text in, text out. `names` reads names from code, `agent_use` finds code that uses an agent, `timeline`
decides which cells are needed, and `notebook` writes them down.
"""

from .notebook import to_notebook
from .timeline import HistoryCell

__all__ = ["HistoryCell", "to_notebook"]
