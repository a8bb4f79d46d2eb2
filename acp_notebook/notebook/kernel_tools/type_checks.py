"""Determines the type of an object without running the user's code: no `__class__`, property or metaclass.

Imports no library: a class belongs to a library if that library's loaded module contains it.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

_type_name = type.__dict__["__name__"].__get__
_type_module = type.__dict__["__module__"].__get__
_type_mro = type.__dict__["__mro__"].__get__
_type_dict = type.__dict__["__dict__"].__get__

SIZED: tuple[type, ...] = (list, dict, tuple, set, frozenset, str, bytes, bytearray, deque, range, memoryview)
"""Types whose `__len__` is C code; also used for their subclasses."""

EXACT_DICTS = (dict, OrderedDict, defaultdict)


def type_name(kind: type) -> str:
    return str(_type_name(kind))


def module_of(kind: type) -> str:
    try:
        name = _type_module(kind)
    except AttributeError:
        return ""
    return name if type(name) is str else ""


def full_name(kind: type) -> str:
    module = module_of(kind)
    return type_name(kind) if module in ("", "builtins") else f"{module}.{type_name(kind)}"


def mro(kind: type) -> tuple[type, ...]:
    found: tuple[type, ...] = _type_mro(kind)
    return found


def class_dict(kind: type) -> Mapping[str, Any]:
    found: Mapping[str, Any] = _type_dict(kind)
    return found


def one_of(kind: type, kinds: Iterable[type]) -> bool:
    """Compare classes by identity: `in` uses `==`, which a metaclass may override."""
    return any(kind is it for it in kinds)


def base_of(value: Any, kinds: Iterable[type]) -> type | None:
    """The first of these classes that it is a subclass of."""
    bases = mro(type(value))
    return next((it for it in kinds if one_of(it, bases)), None)


def loaded(module: str, name: str) -> Any:
    """The attribute of a loaded module; None if it is not loaded. Imports nothing."""
    found = sys.modules.get(module)
    if not issubclass(type(found), ModuleType):
        return None
    return module_dict(found).get(name)


_module_dict = vars(ModuleType)["__dict__"].__get__


def module_dict(module: Any) -> dict[str, Any]:
    """The `__dict__` of a module, even if its class computes attributes."""
    found = _module_dict(module)
    return found if type(found) is dict else {}


def is_exactly(value: Any, module: str, *names: str) -> bool:
    """Whether its class is exactly one of these classes of the loaded library."""
    kind = type(value)
    return any(kind is loaded(module, name) for name in names)


def derives_from(value: Any, module: str, name: str) -> bool:
    wanted = loaded(module, name)
    return wanted is not None and any(it is wanted for it in mro(type(value)))


def is_library_class(kind: type, *libraries: str) -> bool:
    """Whether one of these libraries defines the class itself, rather than the user deriving or renaming
    it."""
    module = module_of(kind)
    return module.partition(".")[0] in libraries and loaded(module, type_name(kind)) is kind


def is_table(value: Any) -> bool:
    """Whether it is a frame or a series of pandas or polars, with columns and labels of the library alone.

    A pandas frame may hold an index or arrays whose classes the user derived from the library's.
    """
    if is_exactly(value, "polars", "DataFrame", "Series"):
        return True
    if not is_exactly(value, "pandas", "DataFrame", "Series"):
        return False
    manager = value._mgr
    indexes = [level for axis in manager.axes for level in (axis, *getattr(axis, "_levels", ()))]
    # Not by their attribute: of a range it would be computed.
    arrays = [*manager.arrays, *(vars(it).get("_data") for it in indexes)]
    return all(is_library_class(type(it), "pandas") for it in indexes) and all(
        it is None or is_exactly(it, "numpy", "ndarray") or is_library_class(type(it), "pandas")
        for it in arrays
    )


def is_library_zone(zone: Any) -> bool:
    """Whether a library defines the time zone: formatting a time calls its zone."""
    kind = type(zone)
    if is_library_class(kind, "datetime", "zoneinfo", "dateutil", "pytz"):
        return True
    # pytz makes a class for each zone, which holds data only.
    functions = any(type(it) is FunctionType for it in class_dict(kind).values())
    return derives_from(zone, "pytz.tzinfo", "BaseTzInfo") and not functions


def length_of(value: Any) -> int | None:
    """The length according to the builtin base class."""
    base = base_of(value, SIZED)
    return None if base is None else length_as(base, value)


def length_as(base: Any, value: Any) -> int | None:
    """The length according to this builtin class, from which it derives."""
    try:
        return int(base.__len__(value))
    except (TypeError, ValueError):  # a memoryview that was released
        return None


def instance_attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """The object's own attributes, from its `__dict__` and slots, read by C code."""
    kinds = mro(type(value))
    for kind in kinds:
        for name, member in list(class_dict(kind).items()):
            if name == "__dict__" and type(member) is GetSetDescriptorType:
                stored = member.__get__(value)
                if type(stored) is dict:
                    yield from ((it, stored[it]) for it in list(stored) if type(it) is str)
            elif type(member) is MemberDescriptorType and not name.startswith("__"):
                try:
                    yield name, member.__get__(value)
                except AttributeError:
                    continue


def is_dataclass(value: Any) -> bool:
    return any(type(class_dict(it).get("__dataclass_fields__")) is dict for it in mro(type(value)))
