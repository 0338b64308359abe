// ctc_loss: the forward and backward recursions over time, for the whole batch at once.
//
// The labels l_0 … l_2S are the targets with blanks around them. alpha[t][s] and beta[t][s] are the logarithms of the
// probabilities of all beginnings that end with label s at time t, and of all ends that begin with it; both include
// log_probs[t]. The gradient is exp(log_probs) - Σ exp(alpha + beta - log_probs + loss) over the labels of a class.
#include "tandem/autograd/ops/loss/ctc_loss.h"

#include <algorithm>
#include <limits>

#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/loss/loss.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

constexpr double kNever = -std::numeric_limits<double>::infinity();

// The input of both recursions.
struct Lattice {
  Tensor labels;          // [N, L], int64
  Tensor may_skip;        // [N, L]: a path may come from the label before last
  Tensor last;            // [N, L]: a path may end here
  Tensor final_time;      // [N, 1]: length - 1
  Tensor target_lengths;  // [N]
  Tensor emissions;       // [T, N, L]
};
constexpr Tensor Lattice::*kParts[] = {&Lattice::labels,     &Lattice::may_skip,       &Lattice::last,
                                       &Lattice::final_time, &Lattice::target_lengths, &Lattice::emissions};

// t moved by `count` labels to later (positive) or earlier ones; the labels that come in are impossible.
Tensor moved(const Tensor& t, int64_t count) {
  const int64_t size = t.size(1), kept = size - std::min(size, std::abs(count));
  const Tensor empty = full({t.size(0), size - kept}, kNever, t.options());
  return count > 0 ? cat({empty, t.narrow(1, 0, kept)}, 1) : cat({t.narrow(1, size - kept, kept), empty}, 1);
}

Tensor log_sum(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor most = maximum(maximum(a, b), c), base = where(most == kNever, zeros_like(most), most);
  return ((a - base).exp() + (b - base).exp() + (c - base).exp()).log() + base;
}

// [T, N, L]
Tensor alphas(const Lattice& x) {
  const int64_t steps = x.emissions.size(0), count = x.labels.size(1);
  std::vector<Tensor> rows;
  const Tensor first = arange(count, x.labels.options()) < 2;
  const Tensor never = full({}, kNever, x.emissions.options());
  for (int64_t t = 0; t < steps; ++t) {
    const Tensor now = x.emissions.select(0, t);
    if (t == 0) {
      rows.push_back(where(first, now, never));
      continue;
    }
    const Tensor& before = rows.back();
    rows.push_back(log_sum(before, moved(before, 1), where(x.may_skip, moved(before, 2), never)) + now);
  }
  return stack(rows, 0);
}
Tensor betas(const Lattice& x) {
  const int64_t steps = x.emissions.size(0);
  std::vector<Tensor> rows(static_cast<std::size_t>(steps));
  const Tensor never = full({}, kNever, x.emissions.options());
  Tensor after = full(x.labels.sizes(), kNever, x.emissions.options());
  for (int64_t t = steps - 1; t >= 0; --t) {
    const Tensor now = x.emissions.select(0, t);
    const Tensor onward = log_sum(after, moved(after, -1), moved(where(x.may_skip, after, never), -2)) + now;
    after = where(x.final_time == t, where(x.last, now, never), onward);
    rows[static_cast<std::size_t>(t)] = after;
  }
  return stack(rows, 0);
}

// The losses [N].
Tensor losses(const Lattice& x, const Tensor& alpha) {
  const int64_t count = x.labels.size(1);
  const Tensor at_end =
      alpha.gather(0, x.final_time.clamp_min(0).unsqueeze(0).expand({1, x.labels.size(0), count})).squeeze(0);
  const Tensor ends = where(x.last, at_end, full({}, kNever, alpha.options()));
  const Tensor most = ends.amax(IntArrayRef(1), true), base = where(most == kNever, zeros_like(most), most);
  const Tensor total = ((ends - base).exp().sum(IntArrayRef(1)).log() + base.squeeze(1));
  // An empty input yields an empty target only.
  const Tensor none = where(x.target_lengths == 0, zeros_like(total), full_like(total, kNever));
  return -where(x.final_time.squeeze(1) < 0, none, total);
}

struct CtcLossBackwardBackward final : NamedNode<CtcLossBackwardBackward> {
  void backward(std::span<Tensor>, std::span<Tensor>) override {
    fail("ctc_loss: its gradient cannot be differentiated");
  }
};

struct CtcLossBackward final : NamedNode<CtcLossBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor scores = log_probs.unpack(*this);
    Tensor result;
    {
      NoGradGuard no_grad;
      result = gradient(g[0].detach(), scores.detach());
    }
    record<CtcLossBackwardBackward>(result, g[0], scores);
    out[0] = result;
  }
  void save(const Lattice& x, const Tensor& x_alpha, const Tensor& x_loss) {
    for (std::size_t i = 0; i < std::size(kParts); ++i) parts[i].save(x.*kParts[i]);
    alpha.save(x_alpha);
    loss.save(x_loss);
  }
  Tensor gradient(const Tensor& g, const Tensor& scores) const {
    Lattice x;
    for (std::size_t i = 0; i < std::size(kParts); ++i) x.*kParts[i] = parts[i].unpack(*this);
    return gradient(g, scores, x, alpha.unpack(*this), loss.unpack(*this));
  }
  Tensor gradient(const Tensor& g, const Tensor& scores, const Lattice& lattice, const Tensor& alpha,
                  const Tensor& loss) const {
    const Tensor beta = betas(lattice), joint = alpha + beta - lattice.emissions + loss.unsqueeze(1);
    const Tensor possible = ((alpha == kNever) | (beta == kNever)).logical_not();
    const Tensor share = where(possible, joint.exp(), zeros({}, scores.options()));
    const Tensor posterior = zeros(scores.sizes(), scores.options())
                                 .scatter_add(2, lattice.labels.unsqueeze(0).expand(share.sizes()), share);
    Tensor own = (scores.exp() - posterior) * g.unsqueeze(1);
    const Tensor infinite = (loss == -kNever).unsqueeze(1);
    own = zero_infinity ? own.masked_fill(infinite, 0)
                        : own.masked_fill(infinite, std::numeric_limits<double>::quiet_NaN());
    const Tensor time = arange(scores.size(0), lattice.labels.options()).view({-1, 1, 1});
    return own.masked_fill(time > lattice.final_time, 0);
  }
  void release() override {
    for (SavedTensor* t : {&log_probs, &alpha, &loss}) t->release();
    for (SavedTensor& part : parts) part.release();
  }
  SavedTensor log_probs, alpha, loss;    // [T, N, C], [T, N, L], [N]
  SavedTensor parts[std::size(kParts)];  // of the lattice
  bool zero_infinity = false;
};

// The targets as [N, S] with S the longest length; labels beyond a row's length are arbitrary, but valid.
Tensor padded(const Tensor& targets, IntArrayRef lengths, int64_t blank) {
  const auto rows = static_cast<int64_t>(lengths.size());
  int64_t longest = 0, total = 0;
  for (int64_t length : lengths) longest = std::max(longest, length), total += length;
  const Tensor labels = targets.to(kLong);
  if (labels.dim() == 2) {
    check(labels.size(1) >= longest, "Expected tensor to have size at least ", longest,
          " at dimension 1, but got size ", labels.size(1), " for the targets of ctc_loss");
    check(labels.size(0) == rows, "ctc_loss: targets must be [", rows, ", ", longest, "] or longer, got ", targets);
    return labels.narrow(1, 0, longest);
  }
  check(labels.dim() == 1 && labels.size(0) == total, "ctc_loss: targets must be [N, S] or a vector of ", total,
        " labels, the sum of target_lengths, got ", targets);
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t length : lengths) {
    parts.push_back(cat({labels.narrow(0, at, length), full({longest - length}, blank, labels.options())}));
    at += length;
  }
  return parts.empty() ? zeros({0, 0}, labels.options()) : stack(parts, 0);
}

Tensor column(IntArrayRef lengths, const Tensor& like) {
  return tensor(std::vector<int64_t>(lengths.begin(), lengths.end())).to(like.device());
}

Lattice make_lattice(const Tensor& log_probs, const Tensor& targets, IntArrayRef inputs, IntArrayRef lengths,
                     int64_t blank) {
  const int64_t batch = log_probs.size(1);
  Lattice x;
  Tensor labels = padded(targets, lengths, blank);
  const int64_t longest = labels.size(1);
  x.target_lengths = column(lengths, labels);
  const Tensor used = arange(longest, labels.options()) < x.target_lengths.unsqueeze(1);
  labels = labels.masked_fill(used.logical_not(), blank);
  if (labels.device().is_cpu() && labels.numel() > 0)
    check(labels.min().item<int64_t>() >= 0 && labels.max().item<int64_t>() < log_probs.size(2),
          "ctc_loss: targets must be in [0, ", log_probs.size(2), ")");
  const Tensor blanks = full({batch, longest, 1}, blank, labels.options());
  x.labels = cat(
      {cat({blanks, labels.unsqueeze(2)}, 2).view({batch, 2 * longest}), full({batch, 1}, blank, labels.options())}, 1);
  const int64_t count = 2 * longest + 1;
  const Tensor repeated = count > 2 ? cat({ones({batch, 2}, labels.options().dtype(kBool)),
                                           x.labels.narrow(1, 2, count - 2) == x.labels.narrow(1, 0, count - 2)},
                                          1)
                                    : ones({batch, count}, labels.options().dtype(kBool));
  x.may_skip = ((x.labels == blank) | repeated).logical_not();
  const Tensor place = arange(count, labels.options()), end = x.target_lengths.unsqueeze(1) * 2;
  x.last = (place == end) | (place == end - 1);
  x.final_time = column(inputs, labels).unsqueeze(1) - 1;
  x.emissions = log_probs.gather(2, x.labels.unsqueeze(0).expand({log_probs.size(0), batch, count}));
  return x;
}

void check_lengths(const Tensor& log_probs, IntArrayRef inputs, IntArrayRef lengths, int64_t blank) {
  const auto batch = static_cast<std::size_t>(log_probs.size(1));
  check(inputs.size() == batch && lengths.size() == batch, "ctc_loss: input_lengths and target_lengths must have ",
        batch, " elements, got ", inputs.size(), " and ", lengths.size());
  check(blank >= 0 && blank < log_probs.size(2), "ctc_loss: blank must be in [0, ", log_probs.size(2), "), got ",
        blank);
  for (std::size_t n = 0; n < batch; ++n) {
    check(inputs[n] >= 0 && inputs[n] <= log_probs.size(0), "ctc_loss: input_lengths must be in [0, ",
          log_probs.size(0), "], got ", inputs[n]);
    check(lengths[n] >= 0, "ctc_loss: target_lengths must not be negative, got ", lengths[n]);
  }
}

// The losses [N] of log_probs [T, N, C].
Tensor terms(const Tensor& log_probs, const Tensor& targets, IntArrayRef inputs, IntArrayRef lengths, int64_t blank,
             bool zero_infinity) {
  Lattice lattice;
  Tensor alpha, loss;
  {
    NoGradGuard no_grad;
    lattice = make_lattice(log_probs, targets, inputs, lengths, blank);
    alpha = alphas(lattice);
    loss = losses(lattice, alpha);
  }
  const Tensor out = zero_infinity ? loss.masked_fill(loss == -kNever, 0) : loss.clone();
  if (auto* node = record<CtcLossBackward>(out, log_probs)) {
    node->log_probs.save(log_probs);
    node->save(lattice, alpha, loss);
    node->zero_infinity = zero_infinity;
  }
  return out;
}

std::vector<int64_t> numbers(const char* name, const Tensor& lengths) {
  check(lengths.dtype() == kLong || lengths.dtype() == kInt, name, " must be integral: ctc_loss got ", lengths);
  const Tensor host = lengths.to(kLong).to(Device(kCPU)).contiguous().reshape({-1});
  const int64_t* data = host.data_ptr<int64_t>();
  return {data, data + host.numel()};
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
                int64_t blank, Reduction reduction, bool zero_infinity) {
  if (const auto to = autograd::in_full_precision(log_probs, targets))
    return to.rounded(
        ctc_loss(to(log_probs), to(targets), input_lengths, target_lengths, blank, reduction, zero_infinity));
  check((log_probs.dim() == 3 || log_probs.dim() == 2) && log_probs.is_floating_point() && log_probs.size(0) > 0,
        "ctc_loss: expected log_probs [T, N, C] or [T, C] with T > 0, got ", log_probs);
  check(targets.dtype() == kLong || targets.dtype() == kInt, "ctc_loss: targets must be integers, got ", targets);
  const bool single = log_probs.dim() == 2;
  const Tensor scores = single ? log_probs.unsqueeze(1) : log_probs;
  check_lengths(scores, input_lengths, target_lengths, blank);
  Tensor out = terms(scores, targets, input_lengths, target_lengths, blank, zero_infinity);
  if (reduction == kMean) out = out / column(target_lengths, out).clamp_min(1).to(out.dtype());
  return reduce_loss("ctc_loss", single && reduction == kNone ? out.squeeze(0) : out, reduction);
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank, Reduction reduction, bool zero_infinity) {
  const std::vector<int64_t> inputs = numbers("input_lengths", input_lengths),
                             lengths = numbers("target_lengths", target_lengths);
  return ctc_loss(log_probs, targets, IntArrayRef(inputs), IntArrayRef(lengths), blank, reduction, zero_infinity);
}

}  // namespace tandem
