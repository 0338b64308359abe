// Padding as composite operations: a window written in a new tensor, or positions read along each dimension.
#include "tandem/autograd/ops/nn/pad.h"

#include <algorithm>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/constant.h"
#include "tandem/autograd/ops/detail/row_major.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/record.h"
#include "tandem/core/base/checked_sizes.h"
#include "tandem/core/memory_format.h"

namespace tandem {
namespace {
using namespace autograd;

enum class Mode { kReflect, kReplicate, kCircular };

// The positions that negative padding leaves, which circular padding repeats.
struct Kept {
  int64_t first, last;
  int64_t size() const { return last - first; }
};
Kept kept(int64_t n, int64_t before, int64_t after) {
  return {std::max<int64_t>(-before, 0), n - std::max<int64_t>(-after, 0)};
}

// The position to read for position i, which may be outside 0 … n - 1.
int64_t position(Mode mode, int64_t i, int64_t n, Kept window) {
  switch (mode) {
    case Mode::kReflect:
      return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
    case Mode::kReplicate:
      return std::clamp<int64_t>(i, 0, n - 1);
    default:
      return i < window.first ? i + window.size() : i >= window.last ? i - window.size() : i;
  }
}

void check_room(const char* name, Mode mode, const Tensor& self, int64_t dim, int64_t before, int64_t after) {
  const int64_t n = self.size(dim), most = std::max(before, after);
  check_magnitude(name, "padding", before);
  check_magnitude(name, "padding", after);
  if (mode == Mode::kCircular) {
    const int64_t size = kept(n, before, after).size();
    check(size >= 0, name, ": padding (", before, ", ", after, ") removes more elements than there are in ",
          "dimension ", dim, " of ", self);
    check(most <= size, name, ": padding (", before, ", ", after, ") wraps more than once around what it leaves, ",
          size, " of dimension ", dim, " of ", self);
    return;
  }
  check(n > 0 && n + before + after > 0, name, ": the padding leaves no elements in dimension ", dim, " of ", self);
  if (mode == Mode::kReflect)
    check(most < n, name, ": padding (", before, ", ", after, ") must be less than the size of dimension ", dim, " of ",
          self);
}

Tensor by_positions(const char* name, Mode mode, const Tensor& self, IntArrayRef pad) {
  const auto count = static_cast<int64_t>(pad.size() / 2);
  const bool listed = mode == Mode::kReplicate || (mode == Mode::kReflect && count < 3);  // by autocast
  if (const auto to = autocast::full_precision_on_cpu(self); to && listed)
    return by_positions(name, mode, to(self), pad);
  check(pad.size() % 2 == 0 && count >= 1 && count <= 3, name, ": expected 2, 4 or 6 numbers, got ", pad);
  check(self.dim() == count + 1 || self.dim() == count + 2, name, ": ", pad, " pads ", count, " dimensions of ",
        count + 1, " or ", count + 2, ", got ", self);
  // Channels-last tensors are read with the channels behind the padded dimensions.
  const bool last = self.dim() == count + 2 && is_channels_last(self.suggest_memory_format());
  Tensor out = last ? self.movedim(1, -1) : self;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t dim = self.dim() - 1 - k, n = self.size(dim);
    const int64_t before = pad[static_cast<std::size_t>(2 * k)], after = pad[static_cast<std::size_t>(2 * k + 1)];
    check_room(name, mode, self, dim, before, after);
    if (before == 0 && after == 0) continue;
    Tensor index = host_table({n + before + after}, kLong);
    for (int64_t i = 0; i < index.numel(); ++i)
      index.ptr<int64_t>()[i] = position(mode, i - before, n, kept(n, before, after));
    out = out.index_select(last ? dim - 1 : dim, constant_on(index, self.device()));
  }
  if (out.is_alias_of(self)) return self.clone();
  return last ? channels_last_result(out) : out;
}

struct PadBackward final : NamedNode<PadBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = constant_pad_nd(g[0], pad); }
  std::vector<int64_t> pad;  // removes padded elements and puts zeros in the place of cropped ones
};

}  // namespace

Tensor constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar& value) {
  const auto count = static_cast<int64_t>(pad.size() / 2);
  check(pad.size() % 2 == 0 && count <= self.dim(),
        "pad: expected two numbers per dimension, for at most as many dimensions as the tensor has; got ", pad, " for ",
        self);
  Tensor inside = self.detach();
  Dims sizes(self.sizes()), starts(sizes.size(), 0);
  for (int64_t k = 0; k < count; ++k) {
    const int64_t dim = self.dim() - 1 - k;
    const auto d = static_cast<std::size_t>(dim);
    const int64_t before = pad[static_cast<std::size_t>(2 * k)], after = pad[static_cast<std::size_t>(2 * k + 1)];
    check_magnitude("pad", "padding", before);
    check_magnitude("pad", "padding", after);
    sizes[d] = add_sizes("pad", sizes[d], before + after);
    check(sizes[d] >= 0, "pad: ", pad, " removes more elements than there are in dimension ", dim, " of ", self);
    const int64_t first = std::min(std::max<int64_t>(-before, 0), self.size(dim));
    const int64_t last = std::max(self.size(dim) - std::max<int64_t>(-after, 0), first);
    inside = inside.narrow(dim, first, last - first);
    starts[d] = std::max<int64_t>(before, 0);
  }
  const TensorOptions options = self.options().memory_format(self.suggest_memory_format());
  // A pure crop leaves nothing to fill.
  Tensor out = Dims(inside.sizes()) == sizes ? empty(sizes, options) : full(sizes, value, options);
  Tensor window = out;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    starts[d] = std::min(starts[d], sizes[d]);
    window = window.narrow(dim, starts[d], std::min(inside.size(dim), sizes[d] - starts[d]));
  }
  if (window.numel() != 0) copy_raw(window, inside);
  if (auto* node = record<PadBackward>(out, self))
    for (const int64_t n : pad) node->pad.push_back(-n);
  return out;
}

Tensor pad(const Tensor& self, IntArrayRef pad, std::string_view mode, optional<double> value) {
  if (mode == "constant") return constant_pad_nd(self, pad, value.value_or(0));
  check(!value || *value == 0, "pad: mode '", mode, "' takes no value");
  if (mode == "reflect") return by_positions("pad reflect", Mode::kReflect, self, pad);
  if (mode == "replicate") return by_positions("pad replicate", Mode::kReplicate, self, pad);
  check(mode == "circular", "pad: mode must be constant, reflect, replicate or circular, got '", mode, "'");
  return by_positions("pad circular", Mode::kCircular, self, pad);
}

#define TANDEM_PAD(f, mode) \
  Tensor f(const Tensor& self, IntArrayRef padding) { return by_positions(#f, mode, self, padding); }
TANDEM_PAD(reflection_pad1d, Mode::kReflect)
TANDEM_PAD(reflection_pad2d, Mode::kReflect)
TANDEM_PAD(reflection_pad3d, Mode::kReflect)
TANDEM_PAD(replication_pad1d, Mode::kReplicate)
TANDEM_PAD(replication_pad2d, Mode::kReplicate)
TANDEM_PAD(replication_pad3d, Mode::kReplicate)
#undef TANDEM_PAD

}  // namespace tandem
