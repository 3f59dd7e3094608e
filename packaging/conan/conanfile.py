"""weft for Conan 2: builds the tree that this file lies in.

    conan create packaging/conan [-o "weft/*:shared=True"] [-o "weft/*:system=True"]

With `system` the headers of Boost, and zlib, zstd, hiredis and OpenSSL, are those that the system has installed; otherwise they are packages of Conan.
CMake finds the installation's own weft-config.cmake, so the targets are those of docs/guide/16-your-build.md. Other generators see one
component for each library, with the names of the installed pkg-config modules. A generator that knows no components takes all of them.
"""
import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.gnu import PkgConfigDeps


class weft_recipe(ConanFile):
    name = "weft"
    version = "0.1.0"
    description = "Stackful fibers for C++20"
    license = "Apache-2.0"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "http": [True, False], "redis": [True, False], "tls": [True, False], "ws": [True, False], "nats": [True, False], "etcd": [True, False], "system": [True, False]}
    default_options = {"shared": False, "http": True, "redis": True, "tls": True, "ws": True, "nats": True, "etcd": True, "system": False}

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "tools/gdb/weft.py"):
            copy(self, pattern, src=root, dst=self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("weft runs on Linux, on x86-64 and aarch64")
        if self.settings.compiler not in ("gcc", "clang") or self.settings.compiler.libcxx != "libstdc++11":
            raise ConanInvalidConfiguration("weft needs g++ or clang++ with libstdc++ and its C++11 ABI (compiler.libcxx=libstdc++11)")
        check_min_cppstd(self, 20)

    def requirements(self):
        if self.options.system:
            return
        if self.options.http:
            self.requires("boost/[>=1.74 <2]", options={"header_only": True}, visible=False)
            self.requires("zlib/[>=1.2.11 <2]")
            self.requires("zstd/[>=1.4 <2]")
        if self.options.redis:
            self.requires("hiredis/[>=1 <2]")
        if self.options.nats or (self.options.etcd and self.options.http):
            self.requires("nlohmann_json/[>=3.10 <4]", visible=False)
        if self.options.tls or self.options.nats:
            self.requires("openssl/[>=3 <4]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for switch in ("TESTS", "EXAMPLES", "BENCH", "TOOLS"):
            toolchain.cache_variables[f"WEFT_{switch}"] = False
        toolchain.cache_variables["WEFT_INSTALL"] = True
        toolchain.cache_variables["WEFT_HTTP"] = "ON" if self.options.http else "OFF"
        toolchain.cache_variables["WEFT_REDIS"] = "ON" if self.options.redis else "OFF"
        toolchain.cache_variables["WEFT_TLS"] = "ON" if self.options.tls else "OFF"
        toolchain.cache_variables["WEFT_WS"] = "ON" if self.options.ws and self.options.http else "OFF"
        toolchain.cache_variables["WEFT_ETCD"] = "ON" if self.options.etcd and self.options.http else "OFF"
        toolchain.cache_variables["WEFT_NATS"] = "ON" if self.options.nats else "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")   # the installation has a file of its own
        core = self.describe("weft", "weft")
        core.builddirs = [os.path.join("lib", "cmake", "weft")]
        core.system_libs = ["pthread"]
        self.describe("weft_reductions", "reductions", "weft").cxxflags = ["-finstrument-functions"]
        self.describe("weft_prefork", "prefork", "weft")
        self.describe("weft_cluster", "cluster", "weft")
        self.describe("weft_lockcheck", "lockcheck")   # stands before the system's lock functions, and knows nothing of weft
        hooks = self.describe("weft_hooks", "hooks")   # stands before the system's functions that block, and knows nothing of weft
        hooks.sharedlinkflags = hooks.exelinkflags = ["-Wl,--no-as-needed"]   # programs name none of its functions
        hooks_static = self.describe("weft_hooks_static", "hooks_static")   # in place of it, for static programs
        module = os.path.join(self.package_folder, "lib", "pkgconfig", "weft-hooks-static.pc")
        with open(module, encoding="utf-8") as told:   # the linker is told of each hook
            hooks_static.exelinkflags = [flag for flag in told.read().split() if flag.startswith("-Wl,")]
        self.describe("weft_c", "c")   # has the core inside, unless that is shared
        if self.options.http:
            compression = [] if self.options.system else ["zlib::zlib", "zstd::zstd"]
            http = self.describe("weft_http", "http", "weft", *compression)   # of Boost it needs the headers, when it is built
            if self.options.system and not self.options.shared:
                http.system_libs = ["z", "zstd"]
        if self.options.redis:
            hiredis = [] if self.options.system else ["hiredis::hiredis"]
            redis = self.describe("weft_redis", "redis", "weft", *hiredis)
            if self.options.system and not self.options.shared:
                redis.system_libs = ["hiredis"]
        if self.options.tls:
            openssl = [] if self.options.system else ["openssl::openssl"]
            tls = self.describe("weft_tls", "tls", "weft", *openssl)
            if self.options.system and not self.options.shared:
                tls.system_libs = ["ssl", "crypto"]
        if self.options.nats:
            openssl = [] if self.options.system else ["openssl::openssl"]   # for nkeys
            nats = self.describe("weft_nats", "nats", "weft", *openssl)
            if self.options.system and not self.options.shared:
                nats.system_libs = ["crypto"]
        if self.options.ws and self.options.http:
            zlib = [] if self.options.system else ["zlib::zlib"]
            self.describe("weft_ws", "ws", "weft_http", *zlib)   # with `system`, weft_http names zlib
        if self.options.etcd and self.options.http:
            self.describe("weft_etcd", "etcd", "weft_http")   # of nlohmann/json it needs the headers, when it is built

    def describe(self, library, name, *requires):
        """The component of one library: what it is called, and the components that are linked with it."""
        component = self.cpp_info.components[library]
        component.libs = [library]
        component.requires = list(requires)
        component.set_property("cmake_target_name", f"weft::{name}")
        component.set_property("pkg_config_name", library.replace("_", "-"))
        return component
