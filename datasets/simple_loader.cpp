// The non-template parts of DataLoader.
#include "tandem/datasets/simple_loader.h"

namespace tandem::data::detail {

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
