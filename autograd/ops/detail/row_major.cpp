#include "tandem/autograd/ops/detail/row_major.h"

#include "tandem/autograd/record.h"
#include "tandem/core/reproducible.h"

namespace tandem::autograd {
namespace {

// `t` in the layout; its gradient gets the layout `gradient`.
Tensor laid_out(const Tensor& t, MemoryFormat format, MemoryFormat gradient, bool as_view);

struct LayoutBackward final : NamedNode<LayoutBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = laid_out(g[0], format, given, true); }
  MemoryFormat format = MemoryFormat::Contiguous, given = MemoryFormat::Contiguous;
};

Tensor laid_out(const Tensor& t, MemoryFormat format, MemoryFormat gradient, bool as_view) {
  Tensor out;
  if (t.is_contiguous(format)) {
    const Dims strides = dense_strides(t.sizes(), format);
    out = (as_view ? make_view : alias)(t, t.sizes(), strides, t.storage_offset());
  } else {
    out = empty_raw(t.sizes(), t.dtype(), t.device(), format);
    copy_raw(out, t);
  }
  if (auto* node = record<LayoutBackward>(out, t)) {
    node->format = gradient;
    node->given = format;
  }
  return out;
}

struct ChannelsLastResultBackward final : NamedNode<ChannelsLastResultBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0].movedim(1, -1); }
};

}  // namespace

Tensor RowMajor::operator()(const Tensor& t) const {
  return t.defined() ? laid_out(t, MemoryFormat::Contiguous, format_, true) : t;
}
// Nobody else has a result that is new.
Tensor RowMajor::restored(const Tensor& out) const {
  return laid_out(out, format_, MemoryFormat::Contiguous, out.is_view());
}

RowMajor in_row_major_on_cpu(const Tensor& self, bool on_cpu) {
  const bool as_cpu = self.is_cpu() || reproducible() == Reproducible::kStrict;
  return RowMajor(as_cpu && on_cpu ? self.suggest_memory_format() : MemoryFormat::Contiguous);
}
RowMajor in_row_major_unless_inferred(const Tensor& self) {
  return in_row_major_on_cpu(self, isReducedFloatingType(self.dtype()) || recording(self));
}

Tensor channels_last_result(const Tensor& out) {
  Dims sizes(out.sizes());
  const int64_t channels = sizes.back();
  sizes.pop_back();
  sizes.insert(1, channels);
  const MemoryFormat format = sizes.size() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
  Tensor result = alias(out.contiguous(), sizes, channels_last_strides(sizes, format), 0);
  record<ChannelsLastResultBackward>(result, out);
  return result;
}

}  // namespace tandem::autograd
