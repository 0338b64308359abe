// A user's program that writes and reads a .pt file: links tandem_pt, too.
#include <tandem/nn/files/pt/pt.h>

#include <cstdio>

int main() {
  const std::vector<char> file = tandem::pickle_save(tandem::IValue("hello"));
  std::puts(tandem::pickle_load(file).toStringRef().c_str());
}
