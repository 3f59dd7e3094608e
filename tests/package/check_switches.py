"""Configures weft with its switches, and an outside project against what find_package(weft) would then find. Compiles nothing.

    check_switches.py SOURCE_DIR CMAKE GENERATOR COMPILER PREFIX WORK_DIR

PREFIX has an installation, whose lists of targets are taken; what is missing on a machine is left out by CMAKE_DISABLE_FIND_PACKAGE.
"""
import pathlib
import shutil
import subprocess
import sys

source, cmake, generator, compiler, prefix, work = sys.argv[1:]
source, prefix, work = pathlib.Path(source), pathlib.Path(prefix), pathlib.Path(work)
failures = []
NOTHING_ELSE = ["-DWEFT_TESTS=OFF", "-DWEFT_TOOLS=OFF", "-DWEFT_EXAMPLES=OFF", "-DWEFT_BENCH=OFF"]
BARE_MACHINE = ["-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON"]


def expect(what, fact, said=""):
    print(("ok      " if fact else "FAILED  ") + what)
    if not fact:
        failures.append(what)
        print(said)


def configure(name, project, *options):
    """Whether it went well, and what it said in one line, as CMake breaks lines where it likes."""
    folder = work / name
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run([cmake, "-G", generator, "-S", project, "-B", folder, f"-DCMAKE_CXX_COMPILER={compiler}", *options],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, " ".join(done.stdout.split())


def weft(name, *options):
    return configure(name, source, *NOTHING_ELSE, *options)


def targets(name):
    return subprocess.run([cmake, "--build", work / name, "--target", "help"], text=True, stdout=subprocess.PIPE).stdout


def check_switches():
    well, said = weft("off", "-DWEFT_HTTP=OFF", "-DWEFT_REDIS=OFF", "-DWEFT_TLS=OFF", "-DWEFT_WS=OFF", "-DWEFT_NATS=OFF", "-DWEFT_ETCD=OFF", "-DWEFT_EXAMPLES=ON")
    made = targets("off") if well else ""
    expect("OFF leaves the libraries out, and the programs that need them", "guide_echo" in made
           and not any(target in made for target in ("weft_http", "weft_redis", "weft_tls", "weft_ws", "weft_nats", "weft_etcd", "guide_service"))
           and all(f"{name} skipped: WEFT_{name.upper()} is OFF" in said for name in ("http", "redis", "tls", "ws", "nats", "etcd")), said)
    well, said = weft("auto", *BARE_MACHINE)
    expect("AUTO leaves out what cannot be built", well
           and not any(target in targets("auto") for target in ("weft_http", "weft_redis", "weft_tls", "weft_ws", "weft_nats", "weft_etcd")), said)
    well, said = weft("http", "-DWEFT_HTTP=ON", *BARE_MACHINE)
    expect("ON without Boost is an error that names its package", not well and "WEFT_HTTP is ON, but libboost-dev" in said, said)
    well, said = weft("coders", "-DWEFT_HTTP=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON")
    expect("the error names what is missing and nothing else", not well and "WEFT_HTTP is ON, but zlib1g-dev" in said
           and "libzstd-dev" in said and "pkg-config" in said and "libboost-dev" not in said, said)
    well, said = weft("redis", "-DWEFT_REDIS=on", "-DWEFT_HTTP=OFF", *BARE_MACHINE)
    expect("ON without hiredis is an error that names its package", not well and "WEFT_REDIS is ON, but libhiredis-dev" in said, said)
    well, said = weft("tls", "-DWEFT_TLS=on", "-DWEFT_HTTP=OFF", *BARE_MACHINE)
    expect("ON without OpenSSL is an error that names its package", not well and "WEFT_TLS is ON, but libssl-dev" in said, said)
    well, said = weft("ws", "-DWEFT_WS=on", "-DWEFT_HTTP=OFF")
    expect("ON without weft::http is an error that names it", not well and "WEFT_WS is ON, but weft::http is missing" in said, said)
    well, said = weft("perhaps", "-DWEFT_HTTP=perhaps")
    expect("another word is an error that names the three", not well and 'WEFT_HTTP is AUTO, ON or OFF, not "perhaps"' in said, said)


def check_flags():
    other = work / "another-library"
    other.mkdir(parents=True, exist_ok=True)
    (other / "version").write_text("")
    for name, flags, sentence in (("rtti", "-fno-rtti", "weft: weft needs run-time type information"),
                                  ("exceptions", "-fno-exceptions", "weft: weft needs exceptions"),
                                  ("library", f"-nostdinc++ -isystem '{other}'", "weft: weft needs libstdc++")):
        well, said = weft(name, f"-DCMAKE_CXX_FLAGS={flags}")
        expect(f"{flags.split()[0]} is refused: '{sentence}'", not well and sentence in said, said)


def check_parts_of_another_project():
    project = work / "parent"
    project.mkdir(parents=True, exist_ok=True)
    (project / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES CXX)
set(WEFT_HTTP OFF)
set(WEFT_REDIS OFF)
set(WEFT_TLS OFF)
set(WEFT_WS OFF)
set(WEFT_ETCD OFF)
set(WEFT_NATS OFF)
add_subdirectory("{source}" weft)
foreach(target IN ITEMS weft::weft weft::reductions)
    if(NOT TARGET ${{target}})
        message(FATAL_ERROR "there is no ${{target}}")
    endif()
endforeach()
foreach(target IN ITEMS weft::http weft::redis weft::tls weft::ws weft::etcd weft_cli)
    if(TARGET ${{target}})
        message(FATAL_ERROR "there is ${{target}}")
    endif()
endforeach()
""")
    well, said = configure("child", project)
    expect("a parent project switches by variables", well, said)


def check_components():
    def installation(name, configured, *without):
        """The package files of a configured build beside the lists of targets of PREFIX."""
        there = next(prefix.rglob("weft-config.cmake")).parent
        folder = work / f"package-{name}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(there, folder / "lib/cmake/weft", ignore=shutil.ignore_patterns("weft-config*", *(f"weft_{w}-*" for w in without)))
        for file in (work / configured).glob("weft-config*.cmake"):
            shutil.copy(file, folder / "lib/cmake/weft")
        (folder / "include").mkdir()
        for library in there.parent.parent.glob("libweft*"):
            shutil.copy(library, folder / "lib", follow_symlinks=False)
        return folder

    outside = work / "outside"
    outside.mkdir(parents=True, exist_ok=True)
    (outside / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES CXX)
find_package(weft ${ASKED})
message(STATUS "core=${weft_core_FOUND} http=${weft_http_FOUND} redis=${weft_redis_FOUND} tls=${weft_tls_FOUND}")
""")

    def ask(folder, asked, *options):
        return configure("asks", outside, f"-Dweft_DIR={folder / 'lib/cmake/weft'}", f"-DASKED={asked.replace(' ', ';')}", *options)

    off, bare = installation("off", "off", "http", "redis", "tls", "ws", "nats", "etcd"), installation("auto", "auto", "http", "redis", "tls", "ws", "nats", "etcd")
    for asked in ("", "REQUIRED", "REQUIRED COMPONENTS weft", "REQUIRED COMPONENTS core prefork cluster reductions lockcheck hooks c",
                  "REQUIRED COMPONENTS core OPTIONAL_COMPONENTS http redis tls ws nats etcd"):
        well, said = ask(off, asked)
        expect(f"find_package(weft {asked}) succeeds without http, redis and tls", well and "core=TRUE http=FALSE redis=FALSE tls=FALSE" in said, said)
    for folder, asked, sentence in (
            (off, "http", "component http was not built: WEFT_HTTP was OFF; here are: core, prefork, cluster, reductions, lockcheck, hooks, c"),
            (off, "core redis", "component redis was not built: WEFT_REDIS was OFF; here are"),
            (bare, "weft http", "component http was not built: libboost-dev (1.74 or later), zlib1g-dev (1.2.11 or later), libzstd-dev (1.4 or later), or pkg-config to find them, was missing; here are"),
            (bare, "redis", "component redis was not built: libhiredis-dev, or pkg-config to find it, was missing; here are"),
            (bare, "tls", "component tls was not built: libssl-dev (3.0 or later), or pkg-config to find it, was missing; here are"),
            (bare, "htpt", "weft has no component htpt; here are: core, prefork, cluster, reductions, lockcheck, hooks, c")):
        well, said = ask(folder, f"REQUIRED COMPONENTS {asked}")
        expect(f"COMPONENTS {asked}: '{sentence}'", not well and sentence in said, said)

    whole = installation("whole", "auto")
    for asked, sentence in (("http", "component http cannot be linked: pkg-config does not know zlib>=1.2.11 (zlib1g-dev); here are: core, nats, prefork, cluster, reductions"),
                            ("tls", "component tls cannot be linked: pkg-config does not know openssl>=3.0 (libssl-dev); here are"),
                            ("redis", "component redis cannot be linked: pkg-config does not know hiredis (libhiredis-dev); here are")):
        well, said = ask(whole, f"REQUIRED COMPONENTS {asked}", "-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON", "-Dweft_USE_STATIC_LIBS=ON")
        expect(f"a static {asked} without what it is linked with: '{sentence}'", not well and sentence in said, said)


work.mkdir(parents=True, exist_ok=True)
check_switches()
check_flags()
check_parts_of_another_project()
check_components()
sys.exit(1 if failures else 0)
