#include "tandem/parallel/fully_sharded/flat_part.h"

#include <algorithm>
#include <tuple>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory/released_memory.h"
#include "tandem/core/memory_format.h"

namespace tandem::distributed {
namespace {

int64_t aligned(int64_t elements, int64_t alignment) { return (elements + alignment - 1) / alignment * alignment; }

}  // namespace

FlatPart::FlatPart(std::vector<std::pair<std::string, Tensor>> parameters, std::shared_ptr<ProcessGroup> group,
                   bool rounds)
    : group_(std::move(group)) {
  const NoGradGuard no_grad;
  int64_t size = 0;
  for (auto& [name, parameter] : parameters) {
    const int64_t numel = parameter.numel();
    places_.push_back({std::move(name), parameter, Dims(parameter.sizes()),
                       dense_strides(parameter.sizes(), dense_format(parameter)), size, numel});
    size += aligned(numel, kAlignment);
  }
  const Tensor& first = places_[0].parameter;
  const int64_t length = aligned(std::max<int64_t>(size, 1), kAlignment * group_->size()) / group_->size();
  const int64_t begin = group_->rank() * length;
  slice_ = zeros({length}, TensorOptions(first.dtype()).device(first.device()));
  whole_ = tandem::detail::make_released_storage(
      static_cast<std::size_t>(length * group_->size()) * static_cast<std::size_t>(first.element_size()),
      slice_.device());
  dtype_ = slice_.dtype();
  if (rounds) half_ = tandem::detail::make_released_storage(whole_->nbytes() / 2, slice_.device());  // of float32
  for (const Place& place : places_) {
    const int64_t from = std::max(begin, place.offset), to = std::min(begin + length, place.offset + place.numel);
    if (from < to)
      slice_.narrow(0, from - begin, to - from)
          .copy_(flattened_like(place.parameter.detach(), place.parameter).narrow(0, from - place.offset, to - from));
  }
  slice_.requires_grad_(first.requires_grad());
  gradients_.resize(places_.size());
  seen_ = slice_._version();
  for (const Place& place : places_) {
    TensorImpl& impl = *place.parameter.impl();
    impl.storage = whole_;
    impl.counter = Storage();
    impl.offset = place.offset;
  }
  attach(false);
}

FlatPart::~FlatPart() {
  for_buffers([](const StorageImpl& buffer) { tandem::detail::set_restorer(buffer, nullptr); });
}

// An empty parameter makes an operation throw that would read memory that is not there.
void FlatPart::attach(bool on) {
  gathered_ = on;
  for (const Place& place : places_) {
    TensorImpl& impl = *place.parameter.impl();
    if (!(impl.storage == whole())) continue;  // check_unchanged() reports it
    const std::size_t empty = std::max<std::size_t>(place.sizes.size(), 1);
    impl.sizes = on ? place.sizes : Dims(empty, 0);
    impl.strides = on ? place.strides : Dims(empty, 1);
    impl.refresh();
  }
}

void FlatPart::use_autocast(optional<ScalarType> dtype) {
  const ScalarType wanted = rounds() && dtype && isReducedFloatingType(*dtype) ? *dtype : slice_.dtype();
  if (wanted == dtype_) return;
  if (is_rounded() && wanted != slice_.dtype()) half_->bump_version("a gather in another half type");
  const Storage before = whole();
  dtype_ = wanted;
  for (const Place& place : places_) {
    TensorImpl& impl = *place.parameter.impl();
    if (!(impl.storage == before)) continue;  // check_unchanged() reports it
    impl.storage = whole();
    impl.dtype = dtype_;
  }
  attach(false);
}

void FlatPart::check_unchanged() const {
  for (const Place& place : places_) {
    const Tensor& p = place.parameter;
    check(p.storage() == whole() && p.storage_offset() == place.offset && p.dtype() == dtype_,
          "FullyShardedDataParallel: parameter ", place.name, " has changed since the model was wrapped\n  it is ", p,
          "\nconvert, move or load the model before wrapping it");
    check(p.requires_grad() == trains(), "FullyShardedDataParallel: parameter ", place.name, " was ",
          trains() ? "frozen" : "unfrozen", " after the model was wrapped; wrap it again");
  }
}

// The buffer's version tells autograd whether the values are those that an operation has kept. It counts the changes of
// the slice, which all ranks make; a tensor with a version of its own receives the gathered values.
void FlatPart::start_gather() {
  if (gathered_ || gather_) return;
  tandem::detail::restore_memory(*whole());
  if (slice_._version() != seen_) {
    seen_ = slice_._version();
    for_buffers([](StorageImpl& b) { b.bump_version("a gather of parameters that an optimizer has changed"); });
  }
  const Tensor target(IntrusivePtr<TensorImpl>(new TensorImpl(whole(), dtype_, {size()})));
  target.impl()->counter = make_storage(0, Device(kCPU, 0));
  gather_ = group_->all_gather(target, slice_.detach().to(dtype_));
}

void FlatPart::finish_gather() {
  if (!gather_) return;
  gather_->wait();
  gather_.reset();
  attach(true);
}

void FlatPart::take_values() {
  const NoGradGuard no_grad;
  const Tensor all(IntrusivePtr<TensorImpl>(new TensorImpl(whole_, slice_.dtype(), {size()})));
  slice_.detach().copy_(all.narrow(0, group_->rank() * slice_.numel(), slice_.numel()));
  seen_ = slice_._version();
}

void FlatPart::release() {
  finish_gather();
  if (!gathered_) return;
  attach(false);
  tandem::detail::release_memory(*whole());
}

void FlatPart::take_gradient(std::size_t i) { gradients_[i] = std::exchange(places_[i].parameter.mutable_grad(), {}); }

void FlatPart::widen_gradient(std::size_t i) {
  Tensor& grad = places_[i].parameter.mutable_grad();
  if (grad.defined()) grad = grad.to(slice_.dtype());
}

void FlatPart::start_reduction() {
  const NoGradGuard no_grad;
  const Tensor flat = empty({size()}, TensorOptions(slice_.dtype()).device(slice_.device()));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (!has_gradient(i)) take_gradient(i);
    Tensor view = alias(flat, place.sizes, place.strides, place.offset);
    if (has_gradient(i))
      view.copy_(gradients_[i]);
    else
      view.zero_();
    gradients_[i].reset();
    const int64_t next = i + 1 < places_.size() ? places_[i + 1].offset : size(), end = place.offset + place.numel;
    if (end < next) flat.narrow(0, end, next - end).zero_();
  }
  mean_ = empty(slice_.sizes(), flat.options());
  reduction_ = group_->reduce_scatter(mean_, flat, ReduceOp::AVG);
}

void FlatPart::finish_reduction() {
  if (!reduction_) return;
  reduction_->wait();
  reduction_.reset();
  const NoGradGuard no_grad;
  Tensor& grad = slice_.mutable_grad();
  if (grad.defined())
    grad.add_(mean_);
  else
    grad = std::move(mean_);
  mean_.reset();
}

std::vector<std::unique_ptr<FlatPart>> cut_parameters(std::vector<std::pair<std::string, Tensor>> parameters,
                                                      const std::shared_ptr<ProcessGroup>& group,
                                                      const std::unordered_set<const TensorImpl*>& rounded) {
  const auto kind = [&](const Tensor& p) {
    return std::tuple(p.dtype(), p.requires_grad(), p.dtype() == kFloat && rounded.contains(p.impl()));
  };
  std::vector<std::unique_ptr<FlatPart>> parts;
  while (!parameters.empty()) {
    const auto first = kind(parameters[0].second);
    std::vector<std::pair<std::string, Tensor>> alike, others;
    for (auto& each : parameters) (kind(each.second) == first ? alike : others).push_back(std::move(each));
    parts.push_back(std::make_unique<FlatPart>(std::move(alike), group, std::get<2>(first)));
    parameters = std::move(others);
  }
  return parts;
}

}  // namespace tandem::distributed
