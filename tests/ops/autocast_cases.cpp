// Compares the dtypes of results under autocast with PyTorch's, the table autocast.txt. torch_autocast.py writes it,
// and says what its lines mean.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "tandem/autograd/autocast.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/core/cuda.h"
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {
namespace {

const char* const kKinds[] = {"float32", "half", "mixed"};

class AutocastTable {
 public:
  explicit AutocastTable(const char* path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      const std::size_t last = line.rfind('\t');
      lines_[line.substr(0, last)] = line.substr(last + 1);
    }
    check(!lines_.empty(), path, " has no lines");
  }
  /// The dtypes of a case, or null if they are those without autocast.
  const std::string* find(const std::string& name, std::size_t number) {
    for (const std::string& key : {concat(name, "\t", number), name + "\t*"}) {
      const auto found = lines_.find(key);
      if (found == lines_.end()) continue;
      used_.insert(key);
      return &found->second;
    }
    return nullptr;
  }
  std::vector<std::string> unused(const std::string& begin) const {
    std::vector<std::string> keys;
    for (const auto& [key, text] : lines_)
      if (key.starts_with(begin) && !used_.contains(key)) keys.push_back(key);
    return keys;
  }

 private:
  std::map<std::string, std::string> lines_;
  std::set<std::string> used_;
};

/// Intended differences: device, kind ("" is all), and the first words of a case's name.
struct Intended {
  const char *device, *kind, *name;
};
const Intended kIntended[] = {
    // PyTorch rounds the product of its float32 factors, which only loses precision.
    {"cpu", "float32", "linalg_pinv"},
    // The fake device does not call the operations in lists that a GPU's kernels are composed of: bmm and sum.
    {"cuda", "", "affine_grid_generator"},
    {"cuda", "", "trace"},
    {"cuda", "", "mvlgamma"},
    {"cuda", "", "linalg__powsum"},
    // The fake device has decompositions of half types, a GPU does not.
    {"cuda", "", "complex eigh"},
    {"cuda", "", "complex svd"},
};
bool is_intended(const std::string& key) {
  return std::any_of(std::begin(kIntended), std::end(kIntended), [&](const Intended& d) {
    const std::string kind = d.kind;
    const std::size_t first = key.find('\t'), second = key.find('\t', first + 1);
    return key.starts_with(d.device) && (kind.empty() || key.substr(first + 1, second - first - 1) == kind) &&
           key.substr(second + 1).starts_with(d.name);
  });
}

Tensors converted(const Tensors& inputs, Device device, const std::string& kind) {
  Tensors out;
  for (const Tensor& x : inputs) {
    const bool half = kind == "half" || (kind == "mixed" && out.empty());
    const bool changes = half && x.dtype() == kFloat;
    out.push_back(x.detach().to(device, changes ? autocast::get_autocast_dtype(device.type()) : x.dtype()));
  }
  return out;
}

std::string dtypes_of(const OpTest& test, const Tensors& inputs, bool enabled) {
  const autocast::AutocastGuard mixed(inputs.front().device().type(), nullopt, enabled);
  std::string text;
  try {
    for (const Tensor& t : test.fn(inputs)) text += concat(text.empty() ? "" : " ", t.dtype());
  } catch (const Error&) {
    return "refused";
  }
  return text;
}

struct Counts {
  int passed = 0, failed = 0;
};

/// Compares the cases on a device, and prints the differences. Intended ones count as neither.
void check_device(AutocastTable& table, Device device, Counts& counts) {
  const std::string begin = device.is_cpu() ? "cpu\t" : "cuda\t";
  const auto fail = [&](auto... parts) {
    ++counts.failed;
    std::printf("FAILED %s\n", concat(parts...).c_str());
  };
  for (const OpTest& test : all_cases()) {
    if (test.torch.empty()) continue;
    for (std::size_t i = 0; i < test.cases.size(); ++i)
      for (const std::string kind : kKinds) {
        const std::string key = begin + kind + "\t" + test.name;
        const std::string* wanted = table.find(key, i);
        if (test.cases[i].empty() || (wanted != nullptr && *wanted == "refused")) continue;
        const Tensors inputs = converted(make_inputs(test, i, kFloat), device, kind);
        const std::string expected = wanted != nullptr ? *wanted : dtypes_of(test, inputs, false);
        const std::string got = dtypes_of(test, inputs, true);
        // What only Tandem refuses without autocast has no known dtype.
        if (wanted == nullptr && expected == "refused") continue;
        if (got == expected)
          ++counts.passed;
        else if (!is_intended(key))
          fail(key, "\t", i, ": ", got, " instead of ", expected);
      }
  }
  for (const std::string& key : table.unused(begin)) fail(key, " is not a case: write the table again");
}

}  // namespace

int check_autocast(const char* path) {
  const NoGradGuard no_grad;
  AutocastTable table(path);
  Counts counts;
  check_device(table, Device(kCPU, 0), counts);
  const bool cuda = cuda::is_available();
  if (cuda) check_device(table, Device(kCUDA, 0), counts);
  std::printf("%d passed, %d failed, %d skipped\n", counts.passed, counts.failed, !cuda);
  return counts.failed == 0 ? 0 : 1;
}

}  // namespace tandem::testing
