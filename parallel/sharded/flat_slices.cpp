#include "tandem/parallel/sharded/flat_slices.h"

#include <algorithm>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory_format.h"

namespace tandem::distributed {
namespace {

int64_t aligned(int64_t elements, int64_t alignment) { return (elements + alignment - 1) / alignment * alignment; }

}  // namespace

FlatSlices::FlatSlices(std::vector<Tensor> parameters, int ranks) : parameters_(std::move(parameters)) {
  const NoGradGuard no_grad;
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const Tensor& p = parameters_[k];
    auto found = std::find_if(buffers_.begin(), buffers_.end(), [&](const SlicedBuffer& buffer) {
      const Tensor& first = parameters_[buffer.parameters[0]];
      return first.dtype() == p.dtype() && first.device() == p.device();
    });
    if (found == buffers_.end()) found = buffers_.emplace(buffers_.end());
    found->parameters.push_back(k);
    found->offsets.push_back(found->slice);  // the size so far
    found->slice += aligned(p.numel(), kAlignment);
  }
  for (SlicedBuffer& buffer : buffers_) {
    buffer.slice = aligned(buffer.slice, kAlignment * ranks) / ranks;
    const Tensor& first = parameters_[buffer.parameters[0]];
    buffer.data = zeros({buffer.slice * ranks}, TensorOptions(first.dtype()).device(first.device()));
    for (std::size_t i = 0; i < buffer.parameters.size(); ++i) {
      const Tensor& p = parameters_[buffer.parameters[i]];
      const Tensor place = part_like(buffer.data, p, buffer.offsets[i]);
      copy_raw(place, p);
      p.set_data(place);
    }
  }
}

std::vector<Segment> FlatSlices::segments(int rank) const {
  std::vector<Segment> out;
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    for (const std::size_t k : buffers_[b].parameters)
      if (rank == 0 && parameters_[k].numel() == 0) out.push_back({k, b, 0, 0, 0});
    for_parts(buffers_[b], rank * buffers_[b].slice, buffers_[b].slice,
              [&](std::size_t parameter, int64_t begin, int64_t length, int64_t at) {
                out.push_back({parameter, b, begin, length, at});
              });
  }
  return out;
}

Tensor FlatSlices::moved() const {
  for (const SlicedBuffer& buffer : buffers_)
    for (std::size_t i = 0; i < buffer.parameters.size(); ++i) {
      const Tensor& p = parameters_[buffer.parameters[i]];
      if (!(p.storage() == buffer.data.storage()) || p.storage_offset() != buffer.offsets[i] || !is_dense(p)) return p;
    }
  return {};
}

void FlatSlices::for_parts(const SlicedBuffer& buffer, int64_t from, int64_t count,
                           const std::function<void(std::size_t, int64_t, int64_t, int64_t)>& part) const {
  const auto after = std::upper_bound(buffer.offsets.begin(), buffer.offsets.end(), from);
  auto i = static_cast<std::size_t>(after - buffer.offsets.begin());
  if (i > 0) --i;
  for (; i < buffer.offsets.size() && buffer.offsets[i] < from + count; ++i) {
    const std::size_t parameter = buffer.parameters[i];
    const int64_t start = buffer.offsets[i], begin = std::max<int64_t>(from - start, 0),
                  end = std::min(from + count - start, parameters_[parameter].numel());
    if (begin < end) part(parameter, begin, end - begin, start + begin - from);
  }
}

}  // namespace tandem::distributed
