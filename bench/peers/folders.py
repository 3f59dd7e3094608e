"""Where build products go."""
import os
import pathlib


def build_folder(parser, folder):
    """What --build names, or a folder of the cache; made, and an error of the parser if it cannot be written."""
    if folder is None:
        folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weft/peers"
    folder = pathlib.Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as refused:
        parser.error(f"argument --build: cannot write to {folder}: {refused.strerror}")
    if not os.access(folder, os.W_OK):
        parser.error(f"argument --build: cannot write to {folder}")
    return folder.resolve()
