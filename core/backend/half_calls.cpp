// Conversions of kernels' arguments between the half types and float32.
#include "tandem/core/backend/half_calls.h"

#include "tandem/core/backend/optim.h"

namespace tandem::detail {

Tensor float_copy(const Tensor& t, bool values) {
  Dims sizes(t.sizes());
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (t.strides()[d] == 0 && sizes[d] > 1) sizes[d] = 1;  // repeated elements are converted once
  const Tensor once = alias(t, sizes, t.strides(), t.storage_offset());
  Tensor out = empty_raw(sizes, kFloat, t.device());
  if (once.is_non_overlapping_and_dense()) out = alias(out, sizes, t.strides(), 0);
  if (values) copy_raw(out, once);
  if (IntArrayRef(sizes) == t.sizes()) return out;
  Dims strides(out.strides());
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != t.sizes()[d]) strides[d] = 0;
  return alias(out, t.sizes(), strides, 0);
}

namespace {

Tensor converted(const Tensor& t, bool values) { return is_half(t) ? float_copy(t, values) : t; }

std::vector<Tensor> all_converted(TensorList list, bool values) {
  std::vector<Tensor> out;
  out.reserve(list.size());
  for (const Tensor& t : list) out.push_back(converted(t, values));
  return out;
}

// The gradients as the same parts of `own`, which is float32.
std::vector<Tensor> parts_of(const Tensor& own, const Gradients& g) {
  std::vector<Tensor> out;
  for (const Tensor& t : g.of)
    out.push_back(alias(own, t.sizes(), t.strides(), t.storage_offset() - g.own->storage_offset()));
  return out;
}

}  // namespace

FloatArgument<TensorList>::FloatArgument(TensorList list, bool written, bool read)
    : original(written ? list : TensorList()), tensors(all_converted(list, !written || read)), value(tensors) {}
void FloatArgument<TensorList>::store() const {
  for (std::size_t i = 0; i < original.size(); ++i)
    if (is_half(original[i])) copy_raw(original[i], tensors[i]);
}

FloatArgument<const Gradients&>::FloatArgument(const Gradients& g, bool, bool)
    : original(g),
      own(g.own != nullptr ? converted(*g.own, true) : Tensor()),
      of(g.own != nullptr ? parts_of(own, g) : all_converted(g.of, true)),
      others(all_converted(g.others, true)),
      value(of) {
  if (g.own != nullptr) value = Gradients(of, own, others);
}
void FloatArgument<const Gradients&>::store() const {
  if (own.defined() && is_half(*original.own)) copy_raw(*original.own, own);
}

}  // namespace tandem::detail
