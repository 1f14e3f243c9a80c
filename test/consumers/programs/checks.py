"""The checks of a program: each is `ok`, or what came instead."""

import json
from collections.abc import Callable
from typing import Any

results: dict[str, str] = {}


def check(name: str, work: Callable[[], tuple[Any, Any]]) -> None:
    """Does the work, which returns what was found and what was expected."""
    try:
        found, wanted = work()
        results[name] = "ok" if found == wanted else f"{found!r}"
    except Exception as error:
        results[name] = f"{type(error).__name__}: {error}"


def report() -> None:
    """Prints the results as JSON."""
    print(json.dumps(results))
