"""Builds the Cython modules of the tests, as a user's setup.py would: with weft.extension_options() and nothing else of weft."""
import importlib.util
import os
import pathlib
import shlex
import subprocess
import sys
import sysconfig

import pytest

import weft

HERE = pathlib.Path(__file__).parent
# A sanitizer that is loaded before Python is not meant for the compilers; its flags are in CC.
TOOLS = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
CC = shlex.split(os.environ.get("CC", "cc"))
# For tests that fork a process with other threads.
forks = pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="a child that is forked while another thread allocates may hang in "
                           "the allocator of AddressSanitizer, which clang 16 does not lock for a fork")


def compile_module(source, folder, packages=None):
    """Compiles source.pyx into folder, and returns the path of the module. `packages`: where Cython finds weft; default: here."""
    name = source.stem
    c = folder / f"{name}.c"
    where = packages or pathlib.Path(weft.__file__).parent.parent
    subprocess.run([sys.executable, "-m", "cython", "-3", "-I", str(where), str(source), "-o", str(c)], check=True, env=TOOLS)
    options = weft.extension_options()
    module = folder / (name + sysconfig.get_config_var("EXT_SUFFIX"))
    subprocess.run([*CC, "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-unused-function",
                    "-Wno-missing-field-initializers", f"-I{sysconfig.get_paths()['include']}",
                    *(f"-I{i}" for i in options["include_dirs"]), str(c), "-o", str(module), *options["extra_link_args"],
                    *(f"-Wl,-rpath,{r}" for r in options["runtime_library_dirs"])], check=True, env=TOOLS)
    return module


def load(module):
    spec = importlib.util.spec_from_file_location(module.name.partition(".")[0], module)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """build(name): the module of name.pyx, compiled once."""
    folder = tmp_path_factory.mktemp("modules")
    built = {}

    def build_module(name):
        if name not in built:
            built[name] = load(compile_module(HERE / f"{name}.pyx", folder))
        return built[name]

    return build_module


@pytest.fixture(scope="session")
def rows(build):
    return build("rows")
