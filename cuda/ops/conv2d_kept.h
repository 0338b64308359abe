// The engines of convolutions that were chosen by timing, kept in files: two timings may choose different engines, whose
// results have different last bits, but each run on a machine shall have the same.
//
// A file holds one convolution's choice on one kind of GPU, of the engines of one version of cuDNN and of our own. The first
// choice that was written stays. A file with another content is ignored, and written anew.
#pragma once
#include <string>

#include "tandem/cuda/gpus.h"
#include "tandem/cuda/plan_key.h"

namespace tandem::cuda_impl {

/// The folder of these files, created when first asked for; "" if it cannot be written.
const std::string& kept_engines_folder();

class KeptEngine {
 public:
  KeptEngine(std::string folder, const Gpu& gpu, const ConvKey& key);
  /// What keep() wrote, now or in an earlier run; "" if nothing.
  std::string find() const;
  /// Keeps `engine`, a line of text, unless another process has kept one since; returns the one that is kept. Throws
  /// Error if the file cannot be written.
  std::string keep(const std::string& engine) const;

 private:
  std::string folder_, convolution_, path_;
};

}  // namespace tandem::cuda_impl
