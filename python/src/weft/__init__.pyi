from typing import TypedDict

__all__ = ["Cancelled", "Closed", "Error", "extension_options", "get_include", "get_library_dir", "version_info"]
__version__: str

class Error(Exception):
    status: int
    def __init__(self, words: str, status: int) -> None: ...

class Closed(Error): ...
class Cancelled(BaseException): ...

class _ExtensionOptions(TypedDict):
    include_dirs: list[str]
    extra_link_args: list[str]
    runtime_library_dirs: list[str]

version_info: tuple[int, int, int]

def get_include() -> str: ...
def get_library_dir() -> str: ...
def extension_options() -> _ExtensionOptions: ...
