// Exports and what they must compute, as files for export_test.py: NAME.onnx, and for each set of inputs
// NAME.SET.in0.npy … and NAME.SET.out0.npy ….
#pragma once
#include <cstdio>
#include <string>

#include "tandem/nn/files/npy.h"
#include "tandem/onnx/onnx.h"
#include "tandem/onnx/save.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"

namespace tandem::test {

using Tensors = std::vector<Tensor>;

/// Exports that give the same bits after they have been read, and others.
inline int same = 0, others = 0;

/// Reads the file and compares what it computes with `expected`, bit by bit.
inline void compare_read(const std::string& path, const std::string& name, const std::vector<Tensors>& inputs,
                         const std::vector<Tensors>& expected) {
  std::string why;
  try {
    onnx::Model model = onnx::load(path);
    for (std::size_t s = 0; s < inputs.size() && why.empty(); ++s) {
      const std::vector<IValue> found = model->forward(std::vector<IValue>(inputs[s].begin(), inputs[s].end()));
      for (std::size_t i = 0; i < found.size() && why.empty(); ++i) {
        const Tensor a = found[i].toTensor(), &b = expected[s][i];
        if (testing::identical(a, b)) continue;
        why = a.sizes() != b.sizes() || a.dtype() != b.dtype() || a.dtype() == kBool
                  ? concat(a, " instead of ", b)
                  : concat("by up to ", (a.to(kDouble) - b.to(kDouble)).abs().max().item<double>());
        why = concat("set ", s, ", output ", i, ' ', why);
      }
    }
  } catch (const std::exception& error) {
    why = error.what();
  }
  (why.empty() ? same : others) += 1;
  if (!why.empty()) std::printf("%s differs when it is read: %s\n", name.c_str(), why.c_str());
}

/// Exports `forward` for `inputs`, and writes what it computes for them and for each of `more`.
inline void write_export(const std::string& folder, const std::string& name, nn::Module& module,
                         const onnx::Forward& forward, const Tensors& inputs, const std::vector<Tensors>& more = {},
                         const onnx::SaveOptions& options = {}) {
  onnx::save(module, forward, inputs, folder + "/" + name + ".onnx", options);
  NoGradGuard no_grad;
  std::vector<Tensors> sets{inputs};
  sets.insert(sets.end(), more.begin(), more.end());
  const bool training = module.is_training();
  module.eval();
  std::vector<Tensors> expected;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const Tensors outputs = forward(sets[s]);
    const auto write = [&](const char* what, const Tensors& list) {
      for (std::size_t i = 0; i < list.size(); ++i)
        serialize::save_npy(concat(folder, '/', name, '.', s, '.', what, i, ".npy"), list[i].contiguous());
    };
    write("in", sets[s]);
    write("out", outputs);
    expected.push_back(outputs);
  }
  compare_read(folder + "/" + name + ".onnx", name, sets, expected);
  module.train(training);
}

}  // namespace tandem::test
