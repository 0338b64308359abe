// Optimizer steps: one launch for a whole list of parameters. The tensor addresses are passed to the kernel
// by value (4 KB), so longer lists need a further launch per 75 to 140 tensors.
#include <algorithm>
#include <utility>
#include <vector>

#include "tandem/core/backend/optim.h"
#include "tandem/core/formulas/optim_math.h"
#include "tandem/cuda/capture.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/pack.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

// Updates of one element: x[0] is the parameter, x[1] the gradient, followed by the state. kOptional: whether
// lists after the third may be missing.
template <class T>
struct SgdPlain {
  using Value = T;
  static constexpr int kLists = 2;
  static constexpr bool kOptional = false;
  ops::Sgd<T> update;
  TANDEM_HD void operator()(T* x, const bool*) const { update(x[0], x[1]); }
};
template <class T, bool first>
struct SgdMomentum {
  using Value = T;
  static constexpr int kLists = 3;
  static constexpr bool kOptional = false;
  ops::Sgd<T> update;
  TANDEM_HD void operator()(T* x, const bool*) const { update.template step<first>(x[0], x[1], x[2]); }
};
template <class T, bool top>
struct AdamUpdate {
  using Value = T;
  static constexpr int kLists = top ? 5 : 4;
  static constexpr bool kOptional = false;
  ops::Adam<T> update;
  TANDEM_HD void operator()(T* x, const bool*) const { update(x[0], x[1], x[2], x[3], top ? &x[kLists - 1] : nullptr); }
};
template <class T>
struct RmsPropUpdate {
  using Value = T;
  static constexpr int kLists = 5;
  static constexpr bool kOptional = true;
  ops::RmsProp<T> update;
  TANDEM_HD void operator()(T* x, const bool* has) const {
    update(x[0], x[1], x[2], has[3] ? &x[3] : nullptr, has[4] ? &x[4] : nullptr);
  }
};
template <class T>
struct AdagradUpdate {
  using Value = T;
  static constexpr int kLists = 3;
  static constexpr bool kOptional = false;
  ops::Adagrad<T> update;
  TANDEM_HD void operator()(T* x, const bool*) const { update(x[0], x[1], x[2]); }
};

constexpr int kThreads = 256;
constexpr int64_t kChunk = 2048;  // elements per block

/// Tensors of one launch. Blocks [ends[t - 1], ends[t]) process tensor t, one chunk each.
template <int L>
struct Table {
  static constexpr int kMaxTensors = (4096 - 192 - 8) / (8 * L + 8 + 4);
  void* data[kMaxTensors][L];
  int64_t numel[kMaxTensors];
  uint32_t ends[kMaxTensors];
  int count = 0;
};

/// Gradients on other devices, to be added to those in `own`.
template <class T>
struct Others {
  const T* at[Gradients::kMaxOthers] = {};
  const T* own = nullptr;
  int count = 0;
};

template <class Update, class T = typename Update::Value>
__device__ void update_one(const Update& update, T* const* data, const bool* has, const Others<T>& others,
                           int64_t place, int i) {
  constexpr int L = Update::kLists;
  T x[L];
  for (int l = 0; l < L; ++l) x[l] = !Update::kOptional || has[l] ? data[l][i] : T(0);
  for (int k = 0; k < others.count; ++k) x[1] += others.at[k][place + i];
  if (others.count > 0) data[1][i] = x[1];
  update(x, has);
  for (int l = 0; l < L; ++l)
    if (l != 1 && (!Update::kOptional || has[l])) data[l][i] = x[l];
}

template <class Update, class T = typename Update::Value>
__device__ void update_pack(const Update& update, T* const* data, const bool* has, const Others<T>& others,
                            int64_t place, int i) {
  constexpr int L = Update::kLists, kWidth = 16 / sizeof(T);
  Pack<T> packs[L];
  for (int l = 0; l < L; ++l)
    if (!Update::kOptional || has[l]) packs[l] = *reinterpret_cast<const Pack<T>*>(data[l] + i);
  for (int o = 0; o < others.count; ++o) {
    const auto other = *reinterpret_cast<const Pack<T>*>(others.at[o] + place + i);
    for (int k = 0; k < kWidth; ++k) packs[1].x[k] += other.x[k];
  }
  if (others.count > 0) *reinterpret_cast<Pack<T>*>(data[1] + i) = packs[1];
  for (int k = 0; k < kWidth; ++k) {
    T x[L];
    for (int l = 0; l < L; ++l) x[l] = !Update::kOptional || has[l] ? packs[l].x[k] : T(0);
    update(x, has);
    for (int l = 0; l < L; ++l)
      if (l != 1 && (!Update::kOptional || has[l])) packs[l].x[k] = x[l];
  }
  for (int l = 0; l < L; ++l)
    if (l != 1 && (!Update::kOptional || has[l])) *reinterpret_cast<Pack<T>*>(data[l] + i) = packs[l];
}

template <class Update>
__global__ void __launch_bounds__(kThreads)
    optim_kernel(const Table<Update::kLists> table, const ReplayedValue<Update> replayed,
                 const Others<typename Update::Value> others) {
  using T = typename Update::Value;
  constexpr int L = Update::kLists, kWidth = 16 / sizeof(T);
  int low = 0, high = table.count - 1;  // finds the first tensor that ends after this block
  while (low < high) {
    const int middle = (low + high) / 2;
    if (table.ends[middle] > blockIdx.x)
      high = middle;
    else
      low = middle + 1;
  }
  const int64_t begin = (blockIdx.x - (low == 0 ? 0 : table.ends[low - 1])) * kChunk;
  const int64_t rest = table.numel[low] - begin;
  const int count = static_cast<int>(rest < kChunk ? rest : kChunk);
  T* data[L];
  bool has[L];
  uintptr_t bits = 0;
  for (int l = 0; l < L; ++l) {
    has[l] = table.data[low][l] != nullptr;
    data[l] = static_cast<T*>(table.data[low][l]) + (has[l] ? begin : 0);
    bits |= reinterpret_cast<uintptr_t>(data[l]);
  }
  const int64_t place = others.count > 0 ? data[1] - others.own : 0;
  for (int k = 0; k < others.count; ++k) bits |= reinterpret_cast<uintptr_t>(others.at[k] + place);
  const Update update = replayed.now();
  const int packed = bits % 16 == 0 ? count / kWidth * kWidth : 0;
  for (int i = static_cast<int>(threadIdx.x) * kWidth; i < packed; i += kThreads * kWidth)
    update_pack(update, data, has, others, place, i);
  for (int i = packed + static_cast<int>(threadIdx.x); i < count; i += kThreads)
    update_one(update, data, has, others, place, i);
}

// Launches the update for the parameters of one device and dtype; lists[l] may be empty if the update allows
// it.
template <class Update>
void launch_all(const char* operation, Device device, const Update& update, const TensorList (&lists)[Update::kLists],
                const Gradients& grads) {
  using T = typename Update::Value;
  static constexpr char kind = 0;  // its address identifies the update
  static_assert(sizeof(Table<Update::kLists>) + sizeof(ReplayedValue<Update>) + sizeof(Others<T>) <= 4096);
  Context& c = context(device);
  check(grads.others.size() <= Gradients::kMaxOthers, operation, ": gradients of too many devices to sum");
  if (!grads.others.empty()) refuse_in_capture(c, "sums gradients of several devices");
  uint64_t signature = call_signature(&kind, {});
  for (const TensorList& list : lists) signature = signature * 31 + call_signature(&kind, {list});
  const auto replayed = replayed_value(c, update, signature, lists[0], lists[1]);
  if (!replayed) return;
  Table<Update::kLists> table;
  Others<T> others;
  if (!grads.others.empty()) others.own = grads.own->ptr<T>();
  for (const Tensor& other : grads.others) others.at[others.count++] = other.ptr<T>();
  uint32_t blocks = 0;
  const auto flush = [&] {
    launch(operation, c, Grid{blocks, kThreads}, optim_kernel<Update>, table, *replayed, others);
    table.count = 0;
    blocks = 0;
  };
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    const Tensor& p = lists[0][i];
    if (p.numel() == 0 || p.device() != device || p.dtype() != scalar_type_of<T>) continue;
    const int64_t more = ceil_div(p.numel(), kChunk);
    if (table.count == Table<Update::kLists>::kMaxTensors || blocks + more >= (int64_t{1} << 31)) flush();
    for (int l = 0; l < Update::kLists; ++l)
      table.data[table.count][l] = lists[l].empty() ? nullptr : lists[l][i].data_ptr();
    table.numel[table.count] = p.numel();
    blocks += static_cast<uint32_t>(more);
    table.ends[table.count++] = blocks;
  }
  flush();
}

// Calls run(device, Type<T>) for each device and dtype among the parameters.
template <class Run>
void for_kinds(TensorList params, const char* operation, const Run& run) {
  std::vector<std::pair<Device, ScalarType>> done;
  for (const Tensor& p : params) {
    const std::pair kind(p.device(), p.scalar_type());
    if (std::find(done.begin(), done.end(), kind) != done.end()) continue;
    done.push_back(kind);
    dispatch(p.dtype(), FloatTypes{}, operation, [&]<class T>(Type<T> type) { run(p.device(), type); });
  }
}

void sgd(TensorList params, const Gradients& grads, TensorList buffers, const SgdStep& step) {
  for_kinds(params, "SGD", [&]<class T>(Device device, Type<T>) {
    const ops::Sgd<T> update(step);
    if (buffers.empty())
      launch_all<SgdPlain<T>>("SGD", device, {update}, {params, grads.of}, grads);
    else if (step.first)
      launch_all<SgdMomentum<T, true>>("SGD", device, {update}, {params, grads.of, buffers}, grads);
    else
      launch_all<SgdMomentum<T, false>>("SGD", device, {update}, {params, grads.of, buffers}, grads);
  });
}

void adam(TensorList params, const Gradients& grads, TensorList means, TensorList squares, TensorList max_squares,
          const AdamStep& step) {
  for_kinds(params, "Adam", [&]<class T>(Device device, Type<T>) {
    const ops::Adam<T> update(step);
    if (max_squares.empty())
      launch_all<AdamUpdate<T, false>>("Adam", device, {update}, {params, grads.of, means, squares}, grads);
    else
      launch_all<AdamUpdate<T, true>>("Adam", device, {update}, {params, grads.of, means, squares, max_squares}, grads);
  });
}

void rmsprop(TensorList params, const Gradients& grads, TensorList squares, TensorList means, TensorList buffers,
             const RmsPropStep& step) {
  for_kinds(params, "RMSprop", [&]<class T>(Device device, Type<T>) {
    launch_all<RmsPropUpdate<T>>("RMSprop", device, {ops::RmsProp<T>(step)},
                                 {params, grads.of, squares, means, buffers}, grads);
  });
}

void adagrad(TensorList params, const Gradients& grads, TensorList sums, const AdagradStep& step) {
  for_kinds(params, "Adagrad", [&]<class T>(Device device, Type<T>) {
    launch_all<AdagradUpdate<T>>("Adagrad", device, {ops::Adagrad<T>(step)}, {params, grads.of, sums}, grads);
  });
}

}  // namespace

constinit const OptimKernels optim_kernels{.sgd = sgd, .adam = adam, .rmsprop = rmsprop, .adagrad = adagrad};

}  // namespace tandem::cuda_impl
