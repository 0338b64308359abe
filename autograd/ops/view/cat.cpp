// cat, stack, and functions that bring tensors to a common rank for them. Gradients: the pieces of g.
#include "tandem/autograd/ops/view/cat.h"

#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/index.h"
#include "tandem/core/memory_format.h"

namespace tandem {
namespace {
using namespace autograd;

struct CatBackward final : NamedNode<CatBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    int64_t start = 0;
    for (std::size_t j = 0; j < out.size(); ++j) {
      if (lengths[j] >= 0 && needs(j)) out[j] = g[0].narrow(dim, start, lengths[j]);
      start += std::max<int64_t>(lengths[j], 0);
    }
  }
  int64_t dim = 0;
  std::vector<int64_t> lengths;  // -1: skipped
};

struct StackBackward final : NamedNode<StackBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    for (std::size_t j = 0; j < out.size(); ++j)
      if (needs(j)) out[j] = g[0].select(dim, static_cast<int64_t>(j));
  }
  int64_t dim = 0;
};

bool left_out(const Tensor& t) { return t.dim() == 1 && t.sizes()[0] == 0; }

// Converts the parts to one type and copies them into windows of `out`, which is dense in `format`, along `dim`.
void join(const Tensor& out, const std::vector<Tensor>& parts, int64_t dim, MemoryFormat format) {
  NoGradGuard no_grad;
  std::vector<Tensor> same(parts);
  for (Tensor& t : same) {
    t = as_type(t, out.dtype());
    if (is_channels_last(format)) t = in_memory_order(t.contiguous(format), format);
  }
  if (is_channels_last(format) && dim > 0) dim = dim == 1 ? out.dim() - 1 : dim - 1;
  backend(out).index.cat(in_memory_order(out, format), same, dim);
}

// The layout that all parts have.
MemoryFormat layout_of(const std::vector<Tensor>& parts) {
  const MemoryFormat format = parts.empty() ? MemoryFormat::Contiguous : parts[0].suggest_memory_format();
  for (const Tensor& t : parts)
    if (t.suggest_memory_format() != format) return MemoryFormat::Contiguous;
  return format;
}

void check_same(const Tensor& first, const Tensor& t, std::size_t number, int64_t free_dim, const char* operation) {
  bool fits = t.dim() == first.dim();
  for (int64_t d = 0; fits && d < t.dim(); ++d) fits = d == free_dim || t.size(d) == first.size(d);
  check(fits, operation, ": sizes differ", free_dim >= 0 ? concat(" in dimensions other than ", free_dim) : "",
        "\n  tensor 0 ", first, "\n  tensor ", number, " ", t);
  check(t.device() == first.device(), operation, ": devices differ\n  tensor 0 ", first, "\n  tensor ", number, " ", t);
}

}  // namespace

Tensor cat(TensorList tensors, int64_t dim) {
  check(!tensors.empty(), "cat: expected at least one tensor");
  const Tensor* first = nullptr;
  for (const Tensor& t : tensors) {
    check(t.dim() > 0, "cat: a 0-dim tensor cannot be concatenated; use stack");
    if (first == nullptr && !left_out(t)) first = &t;
  }
  dim = first == nullptr ? 0 : wrap_dim(dim, first->dim());
  if (first == nullptr) first = &tensors[0];
  std::vector<int64_t> lengths;
  std::vector<Tensor> parts;
  Dims sizes(first->sizes());
  int64_t& joined = sizes[static_cast<std::size_t>(dim)] = 0;
  for (std::size_t j = 0; j < tensors.size(); ++j) {
    lengths.push_back(left_out(tensors[j]) ? -1 : tensors[j].size(std::min(dim, tensors[j].dim() - 1)));
    if (lengths[j] < 0) continue;
    check_same(*first, tensors[j], j, dim, "cat");
    check(!__builtin_add_overflow(joined, lengths[j], &joined), "cat: too many elements");
    parts.push_back(tensors[j]);
  }
  const MemoryFormat format = layout_of(parts);
  Tensor out = empty_raw(sizes, result_type(tensors), first->device(), format);
  if (!parts.empty()) join(out, parts, dim, format);
  if (auto* node = record_list<CatBackward>(TensorList(out), tensors)) {
    node->dim = dim;
    node->lengths = std::move(lengths);
  }
  return out;
}

Tensor stack(TensorList tensors, int64_t dim) {
  check(!tensors.empty(), "stack: expected at least one tensor");
  dim = wrap_dim(dim, tensors[0].dim() + 1);
  Dims sizes(tensors[0].sizes());
  sizes.insert(static_cast<std::size_t>(dim), 1);
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (std::size_t j = 0; j < tensors.size(); ++j) {
    check_same(tensors[0], tensors[j], j, -1, "stack");
    Dims strides(tensors[j].strides());
    strides.insert(static_cast<std::size_t>(dim), 0);
    parts.push_back(alias(tensors[j], sizes, strides, tensors[j].storage_offset()));
  }
  sizes[static_cast<std::size_t>(dim)] = static_cast<int64_t>(tensors.size());
  Tensor out = empty_raw(sizes, result_type(tensors), tensors[0].device());
  join(out, parts, dim, MemoryFormat::Contiguous);
  if (auto* node = record_list<StackBackward>(TensorList(out), tensors)) node->dim = dim;
  return out;
}

Tensor hstack(TensorList tensors) {
  std::vector<Tensor> parts(tensors.begin(), tensors.end());
  for (Tensor& t : parts)
    if (t.dim() == 0) t = t.reshape({1});
  return cat(parts, !parts.empty() && parts[0].dim() > 1 ? 1 : 0);
}

Tensor vstack(TensorList tensors) {
  std::vector<Tensor> parts(tensors.begin(), tensors.end());
  for (Tensor& t : parts)
    if (t.dim() < 2) t = t.reshape({1, t.numel()});
  return cat(parts, 0);
}

Tensor column_stack(TensorList tensors) {
  std::vector<Tensor> parts(tensors.begin(), tensors.end());
  for (Tensor& t : parts)
    if (t.dim() <= 1) t = t.reshape({t.numel(), 1});
  return hstack(parts);
}

Tensor dstack(TensorList tensors) {
  std::vector<Tensor> parts(tensors.begin(), tensors.end());
  for (Tensor& t : parts) t = atleast_3d(t);
  return cat(parts, 2);
}

}  // namespace tandem
