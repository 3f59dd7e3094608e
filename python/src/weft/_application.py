"""Finds the application that a text names, for the command and for interpreters that have nothing but that text."""
import importlib
import os


class NotFound(ValueError):
    """No application has that name."""


def find(name, make):
    """The application that MODULE:APP names; make: what it is a factory of."""
    module, colon, names = name.partition(":")
    if not module or (colon and not names):
        raise NotFound(f"{name!r} is not MODULE:APP, for example shop.main:app")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as e:
        if e.name != module and not module.startswith(f"{e.name}."):
            raise
        raise NotFound(f"there is no module {e.name!r} in {os.getcwd()} or on the path of Python") from None
    for part in (names or "app").split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise NotFound(f"{module} has no {names or 'app'}") from None
    return found() if make else found
