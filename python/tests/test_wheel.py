"""The package as a wheel: what is in it, and that nothing else of weft is needed to build and run an extension."""
import json
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import zipfile

import pytest

HERE = pathlib.Path(__file__).parent


def run(*command, **options):
    return subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, text=True, **options).stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel with the library that the build has made: WEFT_C_LIBRARY."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", folder,
        f"--config-settings=cmake.define.WEFT_C_LIBRARY={os.environ['WEFT_C_LIBRARY']}",
        f"--config-settings=build-dir={folder / 'build'}", HERE.parent)
    return next(folder.glob("weft-*.whl"))


def test_seed_L16_the_wheel_has_all_that_users_need(wheel):
    names = {re.sub(r"\.cpython-[^.]*\.so$", ".so", n) for n in zipfile.ZipFile(wheel).namelist()}
    package = {n for n in names if n.startswith("weft/")}
    assert package == {f"weft/{n}" for n in (
        "__init__.py", "__init__.pyi", "py.typed", "_core.so", "_fibers.so", "_serve.so", "_no_http.py", "_application.py", "_asgi.py",
        "_interpreters.py", "serve.py", "libweft_c.so.0", "__init__.pxd", "_core.pxd", "_fibers.pxd", "c.pxd", "hooks.pxd", "http.pxd", "prefork.pxd", "scheduler.pxd", "typed.pxd",
        *(f"include/weft/{h}" for h in ("c.h", "c_scheduler.h", "c_hooks.h", "c_http.h", "c_prefork.h")))}
    assert any(n.endswith("/licenses/LICENSE") for n in names)


def test_seed_L16_an_extension_is_built_and_run_with_the_wheel_alone(wheel, tmp_path):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "WEFT"))}
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    python = venv / "bin/python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "--quiet", wheel, env=clean)
    options = json.loads(run(python, "-c", "import json, weft; print(json.dumps(weft.extension_options()))", env=clean, cwd=tmp_path))
    assert all(pathlib.Path(i).is_relative_to(venv) for i in options["include_dirs"])

    packages = next(venv.glob("lib/python*/site-packages"))
    run(sys.executable, "-m", "cython", "-3", "-I", packages, HERE / "seed.pyx", "-o", tmp_path / "seed.c")
    module = tmp_path / ("seed" + sysconfig.get_config_var("EXT_SUFFIX"))
    run("cc", "-shared", "-fPIC", "-O2", f"-I{sysconfig.get_paths()['include']}", *(f"-I{i}" for i in options["include_dirs"]),
        tmp_path / "seed.c", "-o", module, *options["extra_link_args"],
        *(f"-Wl,-rpath,{r}" for r in options["runtime_library_dirs"]), env=clean)
    assert run(python, "-c", "import seed; print(seed.main())", env=clean, cwd=tmp_path) == "10000\n"
