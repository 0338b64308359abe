// How each type of argument is copied.
#include "tandem/core/capture/kept_call.h"

#include <algorithm>
#include <span>

#include "tandem/core/backend/attention.h"
#include "tandem/core/backend/conv.h"
#include "tandem/core/backend/data.h"
#include "tandem/core/backend/index.h"
#include "tandem/core/backend/loss.h"
#include "tandem/core/backend/optim.h"
#include "tandem/core/backend/random.h"
#include "tandem/core/backend/recurrent.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/core/backend/sliding_windows.h"
#include "tandem/core/pixel_scale.h"

namespace tandem::detail {

const Tensor* KeptArguments::keep(const Tensor& t, int call) {
  if (!t.defined()) return &tensors_.emplace_back();
  const TensorImpl& from = *t.impl();
  if (!from.device().is_cpu()) fail("uses ", from.device());
  const int number = memory_.use(from.storage->data(), call);
  if (number >= 0 && !anywhere_) anywhere_ = borrow_storage(nullptr, 0, from.device(), nullptr, nullptr);
  const Storage& storage = number >= 0 ? anywhere_ : from.storage;
  auto* impl = new TensorImpl(storage, from.dtype, from.sizes, from.strides, from.offset);
  tensors_.emplace_back(IntrusivePtr(impl));
  impl->data = from.data;  // to tell an optimizer's calls apart
  if (number >= 0)
    inside_.emplace_back(impl, number);
  else if (std::ranges::find(outside_, storage.get(), &std::pair<StorageImpl*, uint32_t>::first) == outside_.end())
    outside_.emplace_back(storage.get(), storage->version());
  return &tensors_.back();
}

TensorList KeptArguments::keep(TensorList list, int call) {
  auto* kept = own(std::vector<Tensor>());
  kept->reserve(list.size());
  for (const Tensor& t : list) kept->push_back(*keep(t, call));
  return *kept;
}

void KeptArguments::place() {
  for (const auto& [impl, number] : inside_) {
    impl->storage = memory_.placed(number);
    impl->refresh();
  }
}

void KeptArguments::end() {
  for (const auto& [storage, version] : outside_)
    if (storage->version() != version) written_.push_back(storage);
}

void KeptArguments::bump_versions() const {
  for (StorageImpl* storage : written_) storage->bump_version("captured step");
}

namespace {

// What the copies of one call need to know.
struct Keeping {
  const KernelCall& call;
  KeptArguments& arguments;
  int number;
};

// The types of arguments that are copied as they are.
using PlainTypes = TypeList<bool, int, int64_t, uint32_t, std::size_t, double, Device, Scalar, KeptWeight*, ClassLoss,
                            Conv2dParameters, Pool2dParameters, SgdStep, AdamStep, RmsPropStep, AdagradStep,
                            RandomParameters, ValueRange, PixelScale>;

template <class T>
requires contains<T, PlainTypes>
const void* kept(const T& value, const Keeping& k) { return k.arguments.own(value); }
const void* kept(const Tensor& t, const Keeping& k) { return k.arguments.keep(t, k.number); }
const void* kept(const TensorList& list, const Keeping& k) { return k.arguments.own(k.arguments.keep(list, k.number)); }
const void* kept(const Operand& operand, const Keeping& k) {
  return k.arguments.own(operand.tensor != nullptr ? Operand(*k.arguments.keep(*operand.tensor, k.number)) : operand);
}
const void* kept(const Gradients& from, const Keeping& k) {
  Gradients to(k.arguments.keep(from.of, k.number));
  to.others = k.arguments.keep(from.others, k.number);
  if (from.own != nullptr) to.own = k.arguments.keep(*from.own, k.number);
  return k.arguments.own(to);
}
// The parameters of an elementwise operation: two, or none.
const void* kept(const Scalar* const& parameters, const Keeping& k) {
  const Scalar* to = nullptr;
  if (parameters != nullptr) to = k.arguments.own(std::array<Scalar, 2>{parameters[0], parameters[1]})->data();
  return k.arguments.own(to);
}
const void* kept(const Generator::Draw& draw, const Keeping& k) {
  Generator::Draw* to = k.arguments.own(draw);
  k.arguments.draws.push_back({draw, to});
  return to;
}
const void* kept(const AttentionRule& rule, const Keeping& k) {
  AttentionRule* to = k.arguments.own(rule);
  if (rule.dropout > 0) k.arguments.draws.push_back({rule.draw, &to->draw});
  return to;
}
const void* kept(const ConvEpilogue<Tensor>& from, const Keeping& k) {
  return k.arguments.own(ConvEpilogue<Tensor>{*k.arguments.keep(from.bias, k.number),
                                              *k.arguments.keep(from.residual, k.number), from.activation});
}
template <class Layer>
const void* kept_layer(const Layer& from, std::initializer_list<Tensor Layer::*> tensors, const Keeping& k) {
  Layer* to = k.arguments.own(from);
  for (Tensor Layer::*t : tensors) to->*t = *k.arguments.keep(from.*t, k.number);
  return to;
}
const void* kept(const RecurrentForward& from, const Keeping& k) {
  using R = RecurrentForward;
  return kept_layer(from,
                    {&R::weight, &R::gates, &R::h, &R::c, &R::out, &R::bias, &R::h_prev, &R::c_prev, &R::candidate}, k);
}
const void* kept(const RecurrentBackward& from, const Keeping& k) {
  using R = RecurrentBackward;
  return kept_layer(from,
                    {&R::weight, &R::gates, &R::h_prev, &R::c_prev, &R::candidate, &R::grad, &R::dh, &R::dc,
                     &R::d_gates, &R::d_hidden},
                    k);
}
// Its arrays are as long as the list of indices of the same call.
const void* kept(const IndexedDims& from, const Keeping& k) {
  const TensorList* indices = nullptr;
  for (std::size_t i = 0; i < k.call.count; ++i)
    if (const auto* list = k.call.argument<TensorList>(i)) indices = list;
  if (indices == nullptr) fail("indexes without a list of indices");
  IndexedDims to = from;
  for (const int64_t* IndexedDims::*array : {&IndexedDims::dims, &IndexedDims::sizes, &IndexedDims::strides})
    to.*array = k.arguments.own(std::vector<int64_t>(from.*array, from.*array + indices->size()))->data();
  return k.arguments.own(to);
}

template <class... T>
const void* kept_argument(const std::type_info& type, const void* value, const Keeping& k, TypeList<T...>) {
  const void* out = nullptr;
  static_cast<void>(((type == typeid(T) && (out = kept(*static_cast<const T*>(value), k), true)) || ...));
  return out;
}

using ArgumentTypes = concat_t<TypeList<Tensor, TensorList, Operand, const Scalar*, ConvEpilogue<Tensor>, AttentionRule,
                                        Generator::Draw, Gradients, RecurrentForward, RecurrentBackward, IndexedDims>,
                               PlainTypes>;

}  // namespace

KeptCall::KeptCall(const KernelCall& call, KeptArguments& arguments, int number) : kernel(call.kernel), run_(call.run) {
  if (run_ == nullptr) fail("calls ", call.name, ", whose result goes to the host");
  for (std::size_t i = 0; i < call.count; ++i) {
    const void* value = kept_argument(*call.types[i], call.values[i], {call, arguments, number}, ArgumentTypes());
    if (value == nullptr) fail("calls ", call.name, ", which cannot be recorded on the CPU");
    values.push_back(value);
  }
}

}  // namespace tandem::detail
