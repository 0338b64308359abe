// numpy_files IN OUT…: reads a .npy or .npz file and writes its arrays to others, for numpy_files.py.
#include <cstdio>

#include "tandem/nn/files/npy.h"
#include "tandem/nn/files/pt/npz.h"

int main(int argc, char** argv) try {
  using namespace tandem;
  if (argc < 3) return 2;
  const std::string in = argv[1];
  const OrderedDict<std::string, Tensor> arrays =
      in.ends_with(".npz") ? serialize::load_npz(in)
                           : OrderedDict<std::string, Tensor>{{"array", serialize::load_npy(in)}};
  for (int i = 2; i < argc; ++i) {
    const std::string out = argv[i];
    if (out.ends_with(".npz"))
      serialize::save_npz(out, arrays, out.ends_with(".compressed.npz"));
    else
      serialize::save_npy(out, arrays[0].value());
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "numpy_files: %s\n", error.what());
  return 1;
}
