// Exports every described operation (tests/ops/): export_ops FOLDER [NAME…]. The last lines count what has been
// written, and why the others are refused.
#include <algorithm>
#include <cstdio>
#include <map>

#include "tandem/nn/cloneable.h"
#include "tandem/tests/onnx/exported.h"
#include "tandem/tests/ops/cases.h"

using namespace tandem;

namespace {

struct Nothing : nn::Module {};

std::string file_name(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return text;
}

// The part of a message that says why.
std::string reason_of(const std::string& message) {
  std::string reason = message.substr(0, message.find('\n'));
  if (const std::size_t at = reason.find("onnx::save: "); at != reason.npos) reason = reason.substr(at + 12);
  return reason;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::printf("usage: export_ops FOLDER [NAME…]\n"), 2;
  const std::vector<std::string> names(argv + 2, argv + argc);
  std::map<std::string, std::vector<std::string>> refused;
  int written = 0;
  for (const testing::OpTest& test : testing::all_cases()) {
    if (!names.empty() && std::find(names.begin(), names.end(), test.name) == names.end()) continue;
    for (std::size_t i = 0; i < test.cases.size(); ++i) {
      test::Tensors inputs;
      for (const Tensor& t : testing::make_inputs(test, i, kFloat)) inputs.push_back(t.detach());
      if (inputs.empty()) continue;
      const std::string name = concat(test.name, '.', i);
      Nothing module;
      try {
        manual_seed(1);
        test::write_export(
            argv[1], concat(file_name(test.name), '.', written), module,
            [&](const test::Tensors& x) {
              manual_seed(1);
              test::Tensors out;
              for (const Tensor& t : test.fn(x))
                if (t.defined()) out.push_back(t);
              return out;
            },
            inputs, {}, onnx::SaveOptions{.dynamic_batch = false});
        ++written;
      } catch (const std::exception& error) {
        refused[reason_of(error.what())].push_back(name);
      }
    }
  }
  std::size_t count = 0;
  for (const auto& [reason, cases] : refused) {
    count += cases.size();
    std::printf("%zu refused: %s\n   ", cases.size(), reason.c_str());
    for (const std::string& name : cases) std::printf(" %s,", name.c_str());
    std::printf("\n");
  }
  std::printf("%d exported, %zu refused\n", written, count);
  std::printf("%d have the same bits after they have been read, %d have not\n", test::same, test::others);
  return test::others != 0;
}
