// torch_files IN OUT: reads a .pt file and writes its value to another, for torch_files.py.
#include <cstdio>

#include "tandem/nn/files/pt/pt.h"

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  tandem::serialize::save_pt(argv[2], tandem::serialize::load_pt(argv[1]));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "torch_files: %s\n", error.what());
  return 1;
}
