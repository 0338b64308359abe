#include "tandem/nn/checkpoint.h"

namespace tandem::utils {

Tensor checkpoint_sequential(const nn::Sequential& layers, int64_t segments, const Tensor& input) {
  const auto count = static_cast<int64_t>(layers->size());
  check(segments >= 1 && segments <= count, "checkpoint_sequential: expected 1 to ", count, " segments, got ",
        segments);
  const auto run = [layers](int64_t first, int64_t last, Tensor x) {
    for (int64_t i = first; i < last; ++i) {
      nn::AnyModule layer = *(layers->begin() + i);
      x = layer.forward(x);
    }
    return x;
  };
  Tensor x = input;
  const int64_t length = count / segments;
  for (int64_t s = 0; s + 1 < segments; ++s)
    x = checkpoint([run, s, length](const Tensor& t) { return run(s * length, (s + 1) * length, t); }, x);
  return run((segments - 1) * length, count, x);
}

}  // namespace tandem::utils
