// Advanced indexing: reads and writes at positions given by tensors.
//
// The remaining dimensions of the tensor form a slice. One slice is read (written) per position, at offset =
// Σ index_k stride_k. Gradients: for a read, zeros with g added at the positions; for a write, g with zeros
// there for self, and g read there for the values.
#include "tandem/autograd/ops/index/index.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/sum_to.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/index.h"

namespace tandem::autograd {
namespace {

// The result's dimensions. The positions' dimensions are first … first + positions.size() - 1.
struct Layout {
  Dims sizes, strides;  // strides in self, 0 for positions
  Dims positions;       // shape that the index tensors broadcast to
  std::size_t first = 0;
};

Layout layout_of(const Tensor& self, const AdvancedIndex& at) {
  Layout out;
  std::size_t low = at.indices.size(), high = 0, count = 0;
  for (std::size_t d = 0; d < at.indices.size(); ++d) {
    if (!at.indices[d].defined()) continue;
    const IntArrayRef shape = at.indices[d].sizes();
    out.positions = count == 0 ? Dims(shape) : broadcast_sizes(out.positions, shape, at.operation);
    low = std::min(low, d);
    high = d;
    ++count;
  }
  const bool neighbours = high - low + 1 == count;
  out.first = neighbours ? low : 0;
  for (std::size_t d = 0; d < self.sizes().size(); ++d) {
    if (d < at.indices.size() && at.indices[d].defined()) continue;
    out.sizes.push_back(self.sizes()[d]);
    out.strides.push_back(self.strides()[d]);
  }
  for (std::size_t k = 0; k < out.positions.size(); ++k) {
    out.sizes.insert(out.first + k, out.positions[k]);
    out.strides.insert(out.first + k, 0);
  }
  return out;
}

// Offsets of all positions in elements, row-major.
Tensor offsets_of(const Tensor& self, const AdvancedIndex& at, const Layout& layout) {
  Tensor out = empty_raw(layout.positions, kLong, self.device());
  SmallVector<Tensor, 4> given;
  Dims dims, sizes, strides;
  for (std::size_t d = 0; d < at.indices.size(); ++d) {
    if (!at.indices[d].defined()) continue;
    given.push_back(at.indices[d]);
    dims.push_back(d < at.origin.size() ? at.origin[d] : static_cast<int64_t>(d));
    sizes.push_back(self.sizes()[d]);
    strides.push_back(self.strides()[d]);
    check_index(sizes.back() > 0 || out.numel() == 0, at.operation,
                ": index is out of bounds for dimension with size 0");
  }
  backend(self).index.offsets(out, {given.data(), given.size()},
                              {.operation = at.operation,
                               .dims = dims.data(),
                               .sizes = sizes.data(),
                               .strides = strides.data(),
                               .wrap = at.wrap});
  return out;
}

Tensor read(const Tensor& self, const AdvancedIndex& at) {
  const Layout layout = layout_of(self, at);
  Tensor out = empty_raw(layout.sizes, self.dtype(), self.device());
  const Tensor offsets = offsets_of(self, at, layout);
  Dims strides(layout.sizes.size(), 0);
  for (std::size_t k = 0; k < layout.positions.size(); ++k) strides[layout.first + k] = offsets.strides()[k];
  if (out.numel() != 0)
    backend(self).index.get(out, alias(self, layout.sizes, layout.strides, self.storage_offset()),
                            alias(offsets, layout.sizes, strides, 0));
  return out;
}

// `values` (without history) broadcast to the result, with the dimensions of the positions merged into one.
Tensor as_rows(const Tensor& values, const Layout& layout, const char* operation) {
  check_index(tandem::detail::broadcasts(values.sizes(), layout.sizes), operation,
              ": shape mismatch: value tensor of shape ", values.sizes(),
              " cannot be broadcast to indexing result of shape ", layout.sizes);
  const Tensor all = values.expand(layout.sizes);
  Dims sizes(layout.sizes);
  for (std::size_t k = 0; k < layout.positions.size(); ++k) sizes.erase(layout.first);
  sizes.insert(layout.first, checked_numel(layout.positions));
  return all.reshape(sizes);
}

void write(const Tensor& out, const AdvancedIndex& at, const Tensor& given, bool accumulate) {
  NoGradGuard no_grad;
  if (accumulate && isReducedFloatingType(out.dtype())) {  // summed in float32, rounded once
    const Tensor sum = out.detach().to(kFloat);
    write(sum, at, given.to(kFloat), true);
    return copy_raw(out, sum);
  }
  const Layout layout = layout_of(out, at);
  Tensor values = given.detach();
  if (values.storage() == out.storage()) values = values.clone();
  const Tensor rows = as_rows(values, layout, at.operation), offsets = offsets_of(out, at, layout);
  if (rows.numel() == 0) return;
  Dims sizes(rows.sizes()), strides(layout.strides);
  for (std::size_t k = 0; k < layout.positions.size(); ++k) strides.erase(layout.first);
  sizes[layout.first] = 1;
  strides.insert(layout.first, 0);
  const auto& kernels = backend(out).index;
  const Tensor to = alias(out, sizes, strides, out.storage_offset());
  const Tensor places = alias(offsets, {offsets.numel()}, {1}, 0);
  const auto dim = static_cast<int64_t>(layout.first);
  if (accumulate && to.is_complex())  // part by part, so twice as far
    kernels.put_add(parts_raw(to), dim, places * 2, parts_raw(rows));
  else if (accumulate)
    kernels.put_add(to, dim, places, rows);
  else
    kernels.put(to, dim, places, rows);
}

// Index tensors saved for backward.
struct SavedIndex {
  void save(const AdvancedIndex& at) {
    operation = at.operation;
    wrap = at.wrap;
    origin = at.origin;
    indices.resize(at.indices.size());
    for (std::size_t d = 0; d < indices.size(); ++d) indices[d].save(at.indices[d]);
  }
  AdvancedIndex unpack(const Node& owner) const {
    AdvancedIndex at;
    at.operation = operation;
    at.wrap = wrap;
    at.origin = origin;
    for (const SavedTensor& t : indices) at.indices.push_back(t.unpack(owner));
    return at;
  }
  void release() {
    for (SavedTensor& t : indices) t.release();
  }
  const char* operation = "index";
  bool wrap = true;
  Dims origin;
  std::vector<SavedTensor> indices;
};

struct IndexBackward final : NamedNode<IndexBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    Tensor base = zeros(sizes, g[0].options());
    const AdvancedIndex at = saved.unpack(*this);
    if (GradMode::is_enabled()) {
      out[0] = index_write(base, at, g[0], /*accumulate=*/true);
    } else {
      write(base, at, g[0], /*accumulate=*/true);
      out[0] = std::move(base);
    }
  }
  void release() override { saved.release(); }
  Dims sizes;
  SavedIndex saved;
};

struct IndexPutBackward final : NamedNode<IndexPutBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const AdvancedIndex at = saved.unpack(*this);
    if (needs(1)) out[1] = index_read(g[0], at);  // the engine sums it to the shape of the values
    if (needs(0)) out[0] = accumulate ? std::move(g[0]) : index_write(g[0], at, zeros({}, g[0].options()), false);
  }
  void release() override { saved.release(); }
  bool accumulate = false;
  SavedIndex saved;
};

}  // namespace

Tensor index_read(const Tensor& self, const AdvancedIndex& at) {
  Tensor out = read(self, at);
  if (auto* node = record<IndexBackward>(out, self)) {
    node->sizes = self.sizes();
    node->saved.save(at);
  }
  return out;
}

Tensor index_write(const Tensor& self, const AdvancedIndex& at, const Tensor& given, bool accumulate) {
  const Tensor values = given.to(self.device(), self.dtype());
  Tensor out = empty_raw(self.sizes(), self.dtype(), self.device());
  copy_raw(out, self);
  write(out, at, values, accumulate);
  if (auto* node = record<IndexPutBackward>(out, self, values)) {
    node->accumulate = accumulate;
    node->saved.save(at);
  }
  return out;
}

Tensor& index_write_(const Tensor& self, const AdvancedIndex& at, const Tensor& given, bool accumulate) {
  const Tensor values = given.to(self.device(), self.dtype());
  return inplace(
      self, "index_put_", Before::kAlias, [&] { write(self, at, values, accumulate); },
      [&](const Tensor& before) { return index_write(before, at, values, accumulate); }, values);
}

AdvancedIndex along(const char* operation, const Tensor& self, int64_t dim, const Tensor& index, bool wrap) {
  check(index.dim() <= 1 && (index.dtype() == kLong || index.dtype() == kInt), operation,
        ": expected a 1-D int64 or int32 index, got ", index);
  check(self.device() == index.device(), operation, ": devices differ\n  self  ", self, "\n  index ", index);
  AdvancedIndex at;
  at.operation = operation;
  at.wrap = wrap;
  at.indices.resize(static_cast<std::size_t>(dim) + 1);
  at.indices[static_cast<std::size_t>(dim)] = index.dim() == 0 ? index.to(kLong).reshape({1}) : index.to(kLong);
  return at;
}

}  // namespace tandem::autograd
