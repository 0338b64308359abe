#include "tandem/cuda/fusion/queue.h"

#include <algorithm>
#include <array>

#include "tandem/core/conv_epilogue.h"
#include "tandem/cuda/capture.h"
#include "tandem/cuda/elementwise_plan.h"
#include "tandem/cuda/fusion/compiler.h"
#include "tandem/cuda/fusion/generate.h"
#include "tandem/cuda/fusion/read_call.h"

namespace tandem::cuda_impl {
namespace {

constexpr int kMostArguments = 6;  // of a call

static_assert(sizeof(Fused) <= 3072, "a kernel's parameters have at most 4 KiB, of which a core needs some");

struct Bytes {
  const char *begin, *end;
};
Bytes range_of(const Tensor& t) {
  int64_t low = 0, high = 0;
  for (int64_t d = 0; d < t.dim(); ++d) {
    const int64_t last = (t.size(d) - 1) * t.stride(d);
    (last < 0 ? low : high) += last;
  }
  const auto* data = static_cast<const char*>(t.data_ptr());
  return {data + low * t.element_size(), data + (high + 1) * t.element_size()};
}
bool overlap(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return false;
  const Bytes x = range_of(a), y = range_of(b);
  return x.begin < y.end && y.begin < x.end;
}
// Whether the arguments have no elements in common, or the same ones at the same places.
bool apart(const QueuedArgument& a, const QueuedArgument& b) {
  return same_elements(a, b) || !overlap(a.tensor, b.tensor);
}
bool apart(const std::vector<Tensor>& all, const Tensor& t) {
  return std::ranges::none_of(all, [&](const Tensor& other) { return overlap(other, t); });
}
// Whether what one of the calls writes is apart from what the other one has beside its elements.
bool apart(const Core& core, const QueuedCall& other) {
  return apart(core.reads, other.out.tensor) && apart(core.writes, other.out.tensor) &&
         std::ranges::all_of(other.in, [&](const QueuedArgument& in) { return apart(core.writes, in.tensor); });
}

int64_t bytes_moved(const Tensor& t) {
  if (!t.defined()) return 0;
  int64_t bytes = t.element_size();
  for (int64_t d = 0; d < t.dim(); ++d) bytes *= t.stride(d) == 0 ? 1 : t.size(d);
  return bytes;
}
int64_t bytes_moved(const QueuedCall& call) {
  int64_t bytes = bytes_moved(call.out.tensor);
  for (const QueuedArgument& in : call.in) bytes += bytes_moved(in.tensor);
  return bytes;
}

// Dimensions into which both shapes can be split, innermost first; empty if there are none.
std::vector<int64_t> common_sizes(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> sizes;
  std::size_t i = 0, j = 0;
  int64_t left_of_a = a[0], left_of_b = b[0];
  while (true) {
    const int64_t size = std::min(left_of_a, left_of_b);
    if (left_of_a % size != 0 || left_of_b % size != 0) return {};
    sizes.push_back(size);
    left_of_a /= size;
    left_of_b /= size;
    if (left_of_a == 1 && ++i < a.size()) left_of_a = a[i];
    if (left_of_b == 1 && ++j < b.size()) left_of_b = b[j];
    if (i == a.size() || j == b.size()) break;
  }
  return i == a.size() && j == b.size() && sizes.size() <= kMaxDims ? sizes : std::vector<int64_t>();
}

// The strides along `finer`, of what has these along `sizes`.
void split(std::vector<int64_t>& strides, const std::vector<int64_t>& sizes, const std::vector<int64_t>& finer) {
  std::vector<int64_t> all;
  std::size_t at = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    for (int64_t done = 1; done < sizes[d] || (sizes[d] == 1 && all.size() == d); done *= finer[at++])
      all.push_back(strides[d] * done);
  strides = std::move(all);
}
void split(QueuedCall& call, const std::vector<int64_t>& sizes, const std::vector<int64_t>& finer) {
  if (call.out.tensor.defined()) split(call.out.strides, sizes, finer);
  for (QueuedArgument& in : call.in)
    if (!in.is_number()) split(in.strides, sizes, finer);
}

// Fills in the strides; returns the dimensions, innermost first.
std::vector<int64_t> find_strides(QueuedCall& call) {
  std::array<const Tensor*, kMostArguments> tensors{&call.shape()};
  for (std::size_t i = 0; i < call.in.size(); ++i)
    if (!call.in[i].is_number()) tensors[i + 1] = &call.in[i].tensor;
  const LoopPlan<kMostArguments> plan = make_plan<kMostArguments>(tensors);
  for (int d = 0; d < plan.ndim; ++d) {
    if (call.out.tensor.defined()) call.out.strides.push_back(plan.strides[d][0]);
    for (std::size_t i = 0; i < call.in.size(); ++i)
      if (!call.in[i].is_number()) call.in[i].strides.push_back(plan.strides[d][i + 1]);
  }
  return {plan.sizes, plan.sizes + plan.ndim};
}

}  // namespace

FusionQueue::FusionQueue(Context& context) : context_(context) { context_.fusion = this; }
FusionQueue::~FusionQueue() {
  context_.fusion = nullptr;
  context_.state().allocator->release_held(context_.pool);
}

void Context::end_fusion() { fusion->end(); }

bool FusionQueue::take(const KernelCall& kernel_call) {
  QueuedCall call;
  call.formula = find_formula(kernel_call.kernel);
  if (call.formula == nullptr) return false;
  if (call.formula->kind == FormulaKind::kOther) {
    if (is_independent(kernel_call, call.formula->index)) context_.fusion = nullptr;  // until resume()
    return false;
  }
  if (!read_call(call, kernel_call, context_.device())) return false;
  const std::vector<int64_t> sizes = find_strides(call);
  if (!joins(call, sizes)) {
    if (!call.out.tensor.defined()) return false;
    end();
    sizes_ = sizes;
  }
  counts_.calls += call.core == nullptr;
  counts_.bytes_before += bytes_moved(call);
  hold(call);
  calls_.push_back(std::move(call));
  if (!calls_.back().out.tensor.defined()) end();  // nothing can follow
  return true;
}

void FusionQueue::hold(const QueuedCall& call) const {
  const auto hold_one = [&](const Tensor& t) {
    if (t.defined()) context_.state().allocator->hold(context_.pool, t.impl()->storage->data());
  };
  hold_one(call.out.tensor);
  for (const QueuedArgument& in : call.in) hold_one(in.tensor);
  if (call.core == nullptr) return;
  for (const Tensor& t : call.core->reads) hold_one(t);
  for (const Tensor& t : call.core->writes) hold_one(t);
}

// Brings the call and the queue to common dimensions, and says whether it may wait with the others.
bool FusionQueue::joins(QueuedCall& call, const std::vector<int64_t>& sizes) {
  if (calls_.empty() || calls_[0].shape().numel() != call.shape().numel()) return false;
  const std::vector<int64_t> common = common_sizes(sizes_, sizes);
  if (common.empty()) return false;
  QueuedCall shaped = call;
  split(shaped, sizes, common);
  for (QueuedCall& earlier : calls_) split(earlier, sizes_, common);
  sizes_ = common;
  if (!admits(shaped)) return false;
  call = std::move(shaped);
  return true;
}

bool FusionQueue::is_independent(const KernelCall& kernel_call, std::size_t writes) const {
  const auto is = [&](const Tensor& t, bool written) {
    const auto meets = [&](const QueuedArgument& a) { return overlap(a.tensor, t); };
    return std::ranges::none_of(calls_, [&](const QueuedCall& call) {
      return meets(call.out) || (written && std::ranges::any_of(call.in, meets)) ||
             (call.core != nullptr && !(apart(call.core->writes, t) && (!written || apart(call.core->reads, t))));
    });
  };
  for (std::size_t i = 0; i < kernel_call.count; ++i) {
    if (const auto* t = kernel_call.argument<Tensor>(i); t != nullptr && !is(*t, i < writes)) return false;
    const auto* epilogue = kernel_call.argument<ConvEpilogue<Tensor>>(i);
    if (epilogue != nullptr && !(is(epilogue->bias, false) && is(epilogue->residual, false))) return false;
  }
  return true;
}

// A kernel computes element by element: what one call writes, another may only read at the same element.
bool FusionQueue::admits(const QueuedCall& call) const {
  bool has_source = call.core == nullptr, has_core = !has_source;
  for (const QueuedCall& earlier : calls_) {
    if (!apart(earlier.out, call.out)) return false;
    for (const QueuedArgument& in : call.in)
      if (!apart(earlier.out, in)) return false;
    for (const QueuedArgument& in : earlier.in)
      if (!apart(in, call.out)) return false;
    if (earlier.core != nullptr)
      if (call.core != nullptr || !apart(*earlier.core, call) || overlap(earlier.core->source, call.out.tensor))
        return false;
    if (call.core != nullptr && !apart(*call.core, earlier)) return false;
    has_source = has_source || same_elements(earlier.out, call.in[0]);
    has_core = has_core || earlier.core != nullptr;
  }
  if (!has_source) return false;  // its source is not computed here
  // What the kernel would have, at most.
  std::vector<const QueuedArgument*> read, written;
  std::size_t operands = 1, numbers = 0;
  const auto count = [&](const QueuedCall& one) {
    const auto is_in = [](const std::vector<const QueuedArgument*>& all, const QueuedArgument& a) {
      return std::ranges::any_of(all, [&](const QueuedArgument* other) { return same_elements(*other, a); });
    };
    for (const QueuedArgument& in : one.in) {
      if (in.is_number())
        ++numbers;
      else if (!is_in(written, in) && !is_in(read, in))
        read.push_back(&in);
    }
    written.push_back(&one.out);
    numbers += 2;
  };
  for (const QueuedCall& earlier : calls_) {
    count(earlier);
    operands += has_core || !is_dead(earlier.out);
  }
  count(call);
  return operands + read.size() <= kFusedOperands && numbers <= kFusedNumbers;
}

bool FusionQueue::is_dead(const QueuedArgument& result) const {
  return context_.state().allocator->freed(context_.pool, result.tensor.impl()->storage->data());
}

void FusionQueue::end() {
  if (calls_.empty()) return;
  const std::vector<QueuedCall> calls = std::move(calls_);
  calls_.clear();
  try {
    run(calls);
  } catch (const std::exception& error) {  // a caller might go on without these calls
    context_.recording->refuse(error.what());
    context_.state().allocator->release_held(context_.pool);
    throw;
  }
  context_.state().allocator->release_held(context_.pool);
}

void FusionQueue::run(const std::vector<QueuedCall>& calls) {
  const tandem::detail::PauseRecorder paused;
  const FusedSource source = generate(calls, sizes_, [this](const QueuedArgument& result) { return is_dead(result); });
  if (source.body.empty()) return;
  if (calls.size() > 1 && run_fused(source)) return;
  for (const QueuedCall& call : calls) {
    counts_.kernels += call.core == nullptr;
    counts_.bytes_after += bytes_moved(call);
    run_alone(call);
  }
}

// Returns false, with nothing done, if there is no such kernel.
bool FusionQueue::run_fused(const FusedSource& source) {
  if (source.operands.empty() || source.operands.size() > kFusedOperands || source.numbers.size() > kFusedNumbers)
    return false;
  std::array<const Tensor*, kFusedOperands> operands{};
  for (std::size_t i = 0; i < source.operands.size(); ++i) operands[i] = &source.operands[i];
  const LoopPlan<kFusedOperands> plan = make_plan<kFusedOperands>(operands);
  const Core* core = source.core;
  if (core != nullptr) {  // the plan must keep the order of dimensions, which is that of the core's elements
    if (!fits_32_bits(plan)) return false;
    const Tensor& first = source.operands[0];
    for (int64_t d = 1; d < first.dim(); ++d)
      if (std::abs(first.stride(d - 1)) <= std::abs(first.stride(d))) return false;
  }
  const void* kernel = fused_kernel(context_, source);
  if (kernel == nullptr) return false;
  Fused p;
  std::ranges::copy(source.numbers, p.numbers);
  auto start = [&](const Piece<kFusedOperands>& piece, bool vectors) {
    p.numel = piece.numel;
    p.vectors = vectors;
    p.walk = piece.walk;
    std::ranges::copy(piece.data, p.data);
    const Grid grid = core != nullptr ? core->grid : grid_for(piece.numel, source.vector, kFusedThreads);
    if (!may_start(context_, "fused")) return;
    const LaunchShape shape{context_.stream(), dim3(static_cast<unsigned>(grid.blocks)),
                            dim3(static_cast<unsigned>(grid.threads)), 0};
    detail::started(context_, "fused",
                    enqueue_fused(kernel, shape, p, core != nullptr ? core->value : std::vector<char>()), grid);
  };
  for_elementwise_pieces<kFusedOperands>(plan, source.vector, PieceCall<kFusedOperands>(start));
  counts_.kernels += core == nullptr;
  for (const Tensor& t : source.operands) counts_.bytes_after += bytes_moved(t);
  if (core == nullptr) return true;
  if (source.from_memory) counts_.bytes_after += bytes_moved(core->source);
  if (source.to_memory) counts_.bytes_after += bytes_moved(core->sink);
  if (core->after) core->after();
  return true;
}

}  // namespace tandem::cuda_impl
