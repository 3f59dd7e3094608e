"""Builds the outside project of tests/package against the package, and runs it."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class weft_user(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "PkgConfigDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        built = self.dependencies["weft"].options
        components = ["prefork", "reductions", "lockcheck", "hooks", "c"] + [name for name in ("http", "redis") if built.get_safe(name)]
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["COMPONENTS"] = ",".join(components)
        toolchain.user_presets_path = False   # it would be written beside this file
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder=os.path.join(self.recipe_folder, "..", "..", "..", "tests", "package"))
        cmake.build()

    def test(self):
        if can_run(self):
            self.run("ctest --output-on-failure --no-tests=error", cwd=self.build_folder, env="conanrun")
