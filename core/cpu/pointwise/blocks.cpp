#include "tandem/core/cpu/pointwise/blocks.h"

#include "tandem/core/cpu/pointwise/half_loops.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kBlock = 512;

void gather(int64_t item, void* to, const void* from, int64_t stride, int64_t n) {
  dispatch_bits(item, [&]<class Bits>(Type<Bits>) {
    Bits* t = static_cast<Bits*>(to);
    const Bits* f = static_cast<const Bits*>(from);
    if (stride == 0)
      std::fill_n(t, n, *f);
    else
      for (int64_t i = 0; i < n; ++i) t[i] = f[i * stride];
  });
}
void scatter(int64_t item, void* to, const void* from, int64_t stride, int64_t n) {
  dispatch_bits(item, [&]<class Bits>(Type<Bits>) {
    Bits* t = static_cast<Bits*>(to);
    const Bits* f = static_cast<const Bits*>(from);
    for (int64_t i = 0; i < n; ++i) t[i * stride] = f[i];
  });
}

struct Call {
  UnitLoop loop;
  const void* parameters;
  int64_t item_out, item_in;
  // The half types, if the loop gets float32 in their place.
  ScalarType half_out = ScalarType::Undefined, half_in = ScalarType::Undefined;
  bool any_half() const { return half_out != ScalarType::Undefined || half_in != ScalarType::Undefined; }
};

// The elements of one block of an operand as the loop takes them.
const void* block_of(const Call& call, bool number, const char* from, int64_t stride, int64_t n, char* buffer) {
  const bool half = call.half_in != ScalarType::Undefined && !number;
  const int64_t item = number && call.half_in != ScalarType::Undefined ? item_size(kFloat) : call.item_in;
  if (stride != 1) {
    char* to = half ? buffer + kBlock * sizeof(float) : buffer;
    gather(item, to, from, stride, n);
    from = to;
  }
  if (!half) return from;
  widen(call.half_in, reinterpret_cast<float*>(buffer), from, n);
  return buffer;
}

// Processes one run of elements in blocks; out's pointer and stride come first. `numbers`: which operands are numbers.
template <std::size_t N>
void run_blocks(const Call& call, char* out, int64_t out_stride, const std::array<const char*, N>& in,
                const int64_t* strides, const std::array<bool, N>& numbers, int64_t n) {
  alignas(64) char buffers[N][kBlock * kMaxItem];
  alignas(64) char results[kBlock * kMaxItem];
  const void* at[N];
  const bool half = call.half_out != ScalarType::Undefined;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    for (std::size_t k = 0; k < N; ++k)  // a repeated element fills its buffer only once
      if (strides[k] != 0 || i == 0)
        at[k] = block_of(call, numbers[k], in[k] + i * strides[k] * call.item_in, strides[k], count, buffers[k]);
    char* to = out + i * out_stride * call.item_out;
    call.loop(out_stride == 1 && !half ? to : results, at, count, call.parameters);
    char* narrowed = out_stride == 1 ? to : results + kBlock * sizeof(float);
    if (half) narrow(call.half_out, narrowed, reinterpret_cast<const float*>(results), count);
    if (out_stride != 1) scatter(call.item_out, to, half ? narrowed : results, out_stride, count);
  }
}

template <std::size_t N>
void run(const Call& call, char* out, int64_t out_stride, const std::array<const char*, N>& in, const int64_t* strides,
         const std::array<bool, N>& numbers, int64_t n) {
  bool unit = out_stride == 1 && !call.any_half();
  for (std::size_t k = 0; k < N; ++k) unit = unit && strides[k] == 1;
  if (!unit) return run_blocks<N>(call, out, out_stride, in, strides, numbers, n);
  const void* at[N];
  for (std::size_t k = 0; k < N; ++k) at[k] = in[k];
  call.loop(out, at, n, call.parameters);
}

template <std::size_t N>
void elementwise_of(const Tensor& out, const Operand* in, ScalarType type, const Call& call) {
  alignas(8) char numbers[N][kMaxItem];
  std::array<bool, N> is_number;
  std::array<const char*, N> data;
  std::array<const Tensor*, N + 1> tensors;
  int64_t strides[N];
  tensors[0] = &out;
  const int64_t total = out.numel();
  bool flat = out.is_contiguous();
  for (std::size_t k = 0; k < N; ++k) {
    const Tensor* t = tensors[k + 1] = in[k].tensor;
    is_number[k] = t == nullptr;
    if (t == nullptr) store(in[k].scalar, call.half_in != ScalarType::Undefined ? kFloat : type, numbers[k]);
    data[k] = t == nullptr ? numbers[k] : static_cast<const char*>(t->data_ptr());
    const int64_t numel = t == nullptr ? 1 : t->numel();
    strides[k] = t != nullptr && (total == 1 || numel != 1);
    flat = flat && (numel == 1 || (numel == total && t->is_contiguous()));
  }
  if (flat) {
    char* to = static_cast<char*>(out.data_ptr());
    return parallel_for(total, kGrain, [&](int64_t begin, int64_t end) {
      std::array<const char*, N> at = data;
      for (std::size_t k = 0; k < N; ++k) at[k] += begin * strides[k] * call.item_in;
      run<N>(call, to + begin * call.item_out, 1, at, strides, is_number, end - begin);
    });
  }
  const auto plan = make_plan<static_cast<int>(N + 1)>(tensors);
  for (std::size_t k = 0; k < N; ++k)
    if (crosses(plan, k + 1) && in[k].tensor->numel() == total) {
      const Tensor straight = straightened(out, *in[k].tensor);
      std::vector<Operand> operands(in, in + N);
      operands[k] = Operand(straight);
      return elementwise_of<N>(out, operands.data(), type, call);
    }
  parallel_runs(plan, [&](const auto& p, const auto& s, int64_t n) {
    std::array<const char*, N> at;
    for (std::size_t k = 0; k < N; ++k) at[k] = p[k + 1] != nullptr ? p[k + 1] : numbers[k];
    run<N>(call, p[0], s[0], at, s.data() + 1, is_number, n);
  });
}

}  // namespace

namespace {
void run_call(const Tensor& out, std::initializer_list<Operand> in, ScalarType type, const Call& call) {
  if (in.size() == 1)
    elementwise_of<1>(out, in.begin(), type, call);
  else if (in.size() == 2)
    elementwise_of<2>(out, in.begin(), type, call);
  else
    elementwise_of<3>(out, in.begin(), type, call);
}
ScalarType if_half(ScalarType type) { return isReducedFloatingType(type) ? type : ScalarType::Undefined; }
}  // namespace

void elementwise(const Tensor& out, std::initializer_list<Operand> in, ScalarType type, UnitLoop loop,
                 const void* parameters) {
  if (out.numel() == 0) return;
  run_call(out, in, type, {loop, parameters, out.element_size(), item_size(type), if_half(out.dtype()), if_half(type)});
}

void elementwise_as_stored(const Tensor& out, std::initializer_list<Operand> in, ScalarType type, UnitLoop loop,
                           const void* parameters) {
  if (out.numel() == 0) return;
  run_call(out, in, type, {loop, parameters, out.element_size(), item_size(type)});
}

Tensor straightened(const Tensor& out, const Tensor& operand) {
  // Dense, with the dimensions in the order of out's strides, as in make_plan.
  Dims order, strides(out.sizes().size(), 1);
  for (std::size_t d = 0; d < strides.size(); ++d) order.push_back(static_cast<int64_t>(d));
  const auto stride = [&](int64_t d) { return std::abs(out.strides()[static_cast<std::size_t>(d)]); };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return stride(a) > stride(b); });
  int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<std::size_t>(order[i]);
    strides[d] = step;
    step *= std::max<int64_t>(1, out.sizes()[d]);
  }
  Tensor straight = empty_raw({out.numel()}, operand.dtype(), out.device());
  straight = alias(straight, out.sizes(), strides, 0);
  copy_raw(straight, operand);
  return straight;
}

}  // namespace tandem::cpu
