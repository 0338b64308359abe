// The non-template parts of DataLoader.
#include "tandem/datasets/simple_loader.h"

#include <numeric>

namespace tandem::data::detail {

std::vector<size_t> EpochSampler::order() {
  if (shuffle_) return shuffled();
  std::vector<size_t> out(size_);
  std::iota(out.begin(), out.end(), size_t{0});
  return out;
}

DataLoaderOptions full_options(const LoaderOptions& options) {
  return DataLoaderOptions(options.batch_size)
      .workers(options.num_workers)
      .pin_memory(options.pin_memory)
      .seed(options.seed)
      .timeout(options.timeout);
}

size_t known_size(optional<size_t> size) {
  check(size.has_value(), "DataLoader: the data set's size is unknown");
  return *size;
}

}  // namespace tandem::data::detail
