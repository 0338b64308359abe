// Loads a tensor that LibTorch has saved, without linking the library that reads it.
#include <tandem/tandem.h>

#include <cstdio>

int main(int, char** argv) {
  tandem::Tensor t;
  tandem::load(t, argv[1]);
  std::printf("%g of %d x %d\n", t.sum().item<double>(), static_cast<int>(t.size(0)), static_cast<int>(t.size(1)));
}
