"""Looks at the port of vcpkg and the Conan recipe without vcpkg and Conan: whether they are well formed and agree with CMakeLists.txt.

    check_recipes.py SOURCE_DIR CMAKE
"""
import ast
import json
import pathlib
import re
import subprocess
import sys

source, cmake = pathlib.Path(sys.argv[1]), sys.argv[2]
port, conan = source / "packaging/vcpkg/ports/weft", source / "packaging/conan/conanfile.py"
project = (source / "CMakeLists.txt").read_text()
version = re.search(r"project\(weft VERSION (\S+)", project).group(1)
switches = set(re.findall(r"^(?:option|set)\((WEFT_\w+)", project, re.M))
failures = []

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")   # what vcpkg takes for the name of a port or a feature
STEPS = ["vcpkg_cmake_install", "vcpkg_cmake_config_fixup", "vcpkg_fixup_pkgconfig", "vcpkg_install_copyright"]


def expect(what, fact, said=""):
    print(("ok      " if fact else "FAILED  ") + what)
    if not fact:
        failures.append(what)
        print(said)


def run_port(features):
    done = subprocess.run([cmake, "-D", f"ROOT={source}", "-D", "FEATURES=" + ";".join(features), "-P", source / "tests/package/run_port.cmake"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = {"feature": [], "option": [], "step": []}
    for kind, _, what in (line.partition(" ") for line in done.stdout.splitlines()):
        said.setdefault(kind, []).append(what)
    expect(f"the port runs with {features or 'no feature'}", done.returncode == 0, done.stdout)
    return said


def is_dependency(d):
    return NAME.fullmatch(d if isinstance(d, str) else d.get("name", "")) is not None


def check_manifest(manifest):
    known = {"name", "version", "description", "license", "supports", "dependencies", "default-features", "features"}
    expect("vcpkg.json has no other fields", set(manifest) <= known, set(manifest) - known)
    expect("vcpkg.json has the name and version of the project", (manifest["name"], manifest["version"]) == ("weft", version))
    dependencies = manifest["dependencies"] + [d for f in manifest["features"].values() for d in f["dependencies"]]
    expect("dependencies and features have names that vcpkg takes",
           all(map(is_dependency, dependencies)) and all(map(NAME.fullmatch, manifest["features"])))
    expect("the features that are taken by default are there", set(manifest["default-features"]) <= set(manifest["features"]))


def check_port():
    manifest = json.loads((port / "vcpkg.json").read_text())
    check_manifest(manifest)
    features = sorted(manifest["features"])
    for chosen in ([], features):
        said = run_port(chosen)
        expect("portfile.cmake knows the features of vcpkg.json", sorted(said["feature"]) == features, said)
        expect("and takes the steps of a port", said["step"] == STEPS, said)
        options = dict(o[2:].partition("=")[::2] for o in said["option"])
        unknown = {o for o in options if o.startswith("WEFT_")} - switches
        expect("and uses switches that CMakeLists.txt has", not unknown, unknown)
        for feature in features:
            expect(f"and switches {feature} as it is chosen", options.get(f"WEFT_{feature.upper()}") == ("ON" if feature in chosen else "OFF"), said)


def constants(tree, kind):
    return {c.value for c in ast.walk(tree) if isinstance(c, ast.Constant) and isinstance(c.value, kind)}


def check_recipe():
    tree = ast.parse(conan.read_text())
    ast.parse((conan.parent / "test_package/conanfile.py").read_text())
    recipe = next(n for n in tree.body if isinstance(n, ast.ClassDef))
    fields = {a.targets[0].id: ast.literal_eval(a.value) for a in recipe.body if isinstance(a, ast.Assign)}
    expect("the Conan recipe has the name and version of the project", (fields["name"], fields["version"]) == ("weft", version), fields)
    expect("each of its options has a default", set(fields["options"]) == set(fields["default_options"]), fields)
    methods = {f.name: f for f in recipe.body if isinstance(f, ast.FunctionDef)}
    exported = {c for c in constants(methods["export_sources"], str) if c not in ("..", "weft")}
    missing = [e for e in exported if not any(source.glob(e))]
    expect("the files that it exports are there", exported and not missing, missing)
    libraries = set(re.findall(r"^\s*weft_library\((\w+)", project, re.M))
    described = {c.args[0].value for c in ast.walk(methods["package_info"]) if isinstance(c, ast.Call) and getattr(c.func, "attr", "") == "describe"}
    expect("it has a component for each library that CMakeLists.txt makes", described == libraries, described ^ libraries)
    named = {s for s in switches if any(s in c or s == f"WEFT_{c}" for c in constants(methods["generate"], str))}
    expect("it uses switches that CMakeLists.txt has", {"WEFT_TESTS", "WEFT_TOOLS", "WEFT_HTTP", "WEFT_REDIS", "WEFT_INSTALL"} <= named, named)


check_port()
check_recipe()
for path in (source / "packaging").rglob("*"):
    if path.is_file():
        expect(f"{path.relative_to(source)} names no host", "://" not in path.read_text())
sys.exit(1 if failures else 0)
