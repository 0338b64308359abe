// Exports and what they must compute, as files for export_test.py: NAME.onnx, and for each set of inputs
// NAME.SET.in0.npy … and NAME.SET.out0.npy ….
#pragma once
#include <filesystem>
#include <string>

#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/files/npy.h"
#include "tandem/onnx/save.h"

namespace tandem::test {

using Tensors = std::vector<Tensor>;

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
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const Tensors outputs = forward(sets[s]);
    const auto write = [&](const char* what, const Tensors& list) {
      for (std::size_t i = 0; i < list.size(); ++i)
        serialize::save_npy(concat(folder, '/', name, '.', s, '.', what, i, ".npy"), list[i].contiguous());
    };
    write("in", sets[s]);
    write("out", outputs);
  }
  module.train(training);
}

}  // namespace tandem::test
