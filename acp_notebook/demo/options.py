"""A session's modes and config options: what there is to choose, and what is chosen.

It changes nothing in how the agent behaves: the demo asks before it edits or runs in every mode.
"""

from __future__ import annotations

from .rpc import Json

MODES: list[Json] = [
    {"id": "ask", "name": "Ask", "description": "Answer questions (in the demo, a label only)"},
    {"id": "code", "name": "Code", "description": "Change files (in the demo, a label only)"},
    {"id": "plan", "name": "Plan", "description": "Plan first (in the demo, a label only)"},
]
MODELS: list[Json] = [
    {
        "group": "small",
        "name": "Small",
        "options": [{"value": "demo-mini", "name": "Demo mini"}, {"value": "demo-fast", "name": "Demo fast"}],
    },
    {
        "group": "large",
        "name": "Large",
        "options": [{"value": "demo-max", "name": "Demo max", "description": "Just as scripted"}],
    },
]
LEVELS: list[Json] = [{"value": level, "name": level.capitalize()} for level in ("low", "medium", "high")]
DEFAULTS: dict[str, str | bool] = {
    "mode": "ask",
    "model": "demo-mini",
    "thought_level": "medium",
    "verbose": False,
}


class Options:
    """Holds the chosen values. ``mode`` is both a mode and a config option: a client reads one of them."""

    def __init__(self, *, booleans: bool, kind: str = "config") -> None:
        self.values = dict(DEFAULTS)
        self.has_config = kind == "config"  # without it, the client gets only modes, or modes and models
        self._has_models = kind == "models"
        self._booleans = booleans

    def modes(self) -> Json:
        return {"currentModeId": self.values["mode"], "availableModes": MODES}

    def state(self) -> Json:
        """The part of the responses to session/new, load and resume."""
        chosen: Json = {"modes": self.modes()}
        if self._has_models:
            chosen["models"] = {
                "currentModelId": self.values["model"],
                "availableModels": [{"modelId": it["value"], "name": it["name"]} for it in _flat(MODELS)],
            }
        return {**chosen, "configOptions": self.config()} if self.has_config else chosen

    def config(self) -> list[Json]:
        modes = [
            {"value": mode["id"], "name": mode["name"], "description": mode["description"]} for mode in MODES
        ]
        listed = [
            self._select("mode", "Mode", "mode", modes),
            self._select("model", "Model", "model", MODELS),
            self._select("thought_level", "Thought level", "thought_level", LEVELS),
        ]
        if self._booleans:
            listed.append(
                {
                    "id": "verbose",
                    "name": "Verbose",
                    "description": "Add the chosen options to plain answers",
                    "type": "boolean",
                    "currentValue": self.values["verbose"],
                }
            )
        return listed

    def choose(self, option: str, value: object) -> None:
        """Set a value; ValueError says what is wrong with it."""
        known = {entry["id"]: entry for entry in self.config()}
        if option not in known:
            raise ValueError(f"there is no option {option!r}")
        allowed: list[object] = [True, False]
        if known[option]["type"] == "select":
            allowed = [choice["value"] for choice in _flat(known[option]["options"])]
        # By type too: 1 == True, and only a real boolean may be one.
        if not isinstance(value, (str, bool)) or value not in allowed:
            raise ValueError(f"{option} cannot be {value!r}; it can be {', '.join(map(str, allowed))}")
        self.values[option] = value

    def _select(self, option: str, name: str, category: str, options: list[Json]) -> Json:
        return {
            "id": option,
            "name": name,
            "category": category,
            "type": "select",
            "currentValue": self.values[option],
            "options": options,
        }


def _flat(options: list[Json]) -> list[Json]:
    return [choice for entry in options for choice in entry.get("options", [entry])]
