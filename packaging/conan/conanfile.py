"""Tandem for Conan 2: `conan create packaging/conan`. Without CUDA and the engines of process groups.

Verified with packages of the system in place of those of Conan Center.
"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfigDeps
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain

SOURCES = ("core", "cuda", "autograd", "nn", "datasets", "parallel", "models", "compat", "packaging", "cli")


class Tandem(ConanFile):
    name = "tandem"
    license = "MIT"
    description = "Deep learning in C++20 with the API of LibTorch's C++ frontend"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "cpu": ["ANY"]}
    default_options = {"shared": True, "cpu": "x86-64-v3"}

    @property
    def root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        self.version = re.search(r"version: '([\d.]+)'", load(self, os.path.join(self.root, "meson.build")))[1]

    def config_options(self):
        if self.settings.arch != "x86_64":
            self.options.cpu = ""

    def export_sources(self):
        for pattern in ("meson.build", "meson_options.txt", "*.h", "LICENSE"):
            copy(self, pattern, self.root, self.export_sources_folder, excludes="*/*")
        for folder in SOURCES:
            copy(self, "*", os.path.join(self.root, folder), os.path.join(self.export_sources_folder, folder))

    def layout(self):
        basic_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("zlib/[>=1.2.11 <2]")
        self.requires("libpng/[>=1.6 <2]")
        self.requires("libjpeg/[>=9]")
        self.requires("libzip/[>=1.7 <2]")
        self.requires("eigen/3.4.0", visible=False)

    def build_requirements(self):
        self.tool_requires("meson/[>=1 <2]")
        self.tool_requires("pkgconf/[>=2]")

    def generate(self):
        PkgConfigDeps(self).generate()
        toolchain = MesonToolchain(self)
        toolchain.project_options.update({"cpu": str(self.options.cpu), "libdir": "lib"})
        for name in ("cuda", "curl", "gloo", "mpi", "nccl", "onnx"):
            toolchain.project_options[name] = "disabled"
        for name in ("cli", "tests", "bench", "examples"):
            toolchain.project_options[name] = "false"
        toolchain.generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        Meson(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Tandem")
        needs = {"Tandem": ["zlib::zlib"], "Models": [], "Text": [], "Pt": ["libzip::libzip"],
                 "Vision": ["libpng::libpng", "libjpeg::libjpeg", "zlib::zlib"], "TensorBoard": ["Vision"]}
        for name, requires in needs.items():
            library = "tandem" if name == "Tandem" else "tandem_" + name.lower()
            part = self.cpp_info.components[name]
            part.libs = [library]
            part.requires = requires + ([] if name == "Tandem" else ["Tandem"])
            part.set_property("cmake_target_name", "Tandem::" + name)
            part.set_property("pkg_config_name", library.replace("_", "-"))
        self.cpp_info.components["Tandem"].system_libs = ["pthread", "dl", "m"]
