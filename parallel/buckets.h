// Buckets: flat buffers that hold the gradients of consecutive parameters. Internal to the reducer.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::distributed {

struct Bucket {
  Tensor buffer;                        // [n], of one dtype, on one device
  std::vector<std::size_t> parameters;  // in the order of the buffer
  std::vector<Tensor> views;            // of the buffer, in the parameters' shapes
  std::size_t missing = 0;              // gradients that have not arrived yet
};

/// Where the gradient of a parameter is.
struct BucketPlace {
  std::size_t bucket = 0, index = 0;
};

/// Puts the parameters, in the given order, into buckets of about `bytes` (the first one: `first_bytes`). Consecutive
/// parameters of one dtype and device share a bucket. Each begins at a multiple of 64 bytes; gaps are zero.
std::vector<Bucket> make_buckets(const std::vector<Tensor>& parameters, const std::vector<std::size_t>& order,
                                 int64_t first_bytes, int64_t bytes);
std::vector<BucketPlace> places_of(const std::vector<Bucket>& buckets, std::size_t parameters);

}  // namespace tandem::distributed
