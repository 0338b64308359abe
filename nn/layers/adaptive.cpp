// AdaptiveLogSoftmaxWithLoss.
#include "tandem/nn/layers/adaptive.h"

#include <cmath>
#include <ostream>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/index/gather.h"
#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/ops/index/index_select.h"
#include "tandem/autograd/ops/nn/softmax.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/nn/sequential.h"

namespace tandem::nn {

AdaptiveLogSoftmaxWithLossImpl::AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions o)
    : options(std::move(o)) {
  const auto& given = options.cutoffs();
  bool increasing = !given.empty() && given.front() > 0 && given.back() < options.n_classes();
  for (std::size_t i = 1; i < given.size(); ++i) increasing = increasing && given[i - 1] < given[i];
  check(increasing,
        "AdaptiveLogSoftmaxWithLoss: cutoffs must be positive, increasing and below n_classes = ", options.n_classes(),
        ", got ", concat(given));
  check(options.div_value() > 0, "AdaptiveLogSoftmaxWithLoss: div_value must be positive, got ", options.div_value());
  AdaptiveLogSoftmaxWithLossImpl::reset();
}

void AdaptiveLogSoftmaxWithLossImpl::reset() {
  cutoffs = options.cutoffs();
  cutoffs.push_back(options.n_classes());
  shortlist_size = cutoffs[0];
  n_clusters = static_cast<int64_t>(cutoffs.size()) - 1;
  head_size = shortlist_size + n_clusters;
  head = register_module("head", Linear(LinearOptions(options.in_features(), head_size).bias(options.head_bias())));
  tail = register_module("tail", ModuleList());
  for (std::size_t i = 0; i + 1 < cutoffs.size(); ++i) {
    const auto hidden = static_cast<int64_t>(static_cast<double>(options.in_features()) /
                                             std::pow(options.div_value(), static_cast<double>(i + 1)));
    // LibTorch makes both in one call, whose arguments g++ evaluates from the last one on.
    Linear to_classes(LinearOptions(hidden, cutoffs[i + 1] - cutoffs[i]).bias(false));
    Linear to_hidden(LinearOptions(options.in_features(), hidden).bias(false));
    tail->push_back(Sequential(to_hidden, to_classes));
  }
}

void AdaptiveLogSoftmaxWithLossImpl::reset_parameters() {
  head->reset_parameters();
  for (std::size_t i = 0; i < tail->size(); ++i) {
    auto& projection = tail->at<SequentialImpl>(i);
    projection.at<LinearImpl>(0).reset_parameters();
    projection.at<LinearImpl>(1).reset_parameters();
  }
}

void AdaptiveLogSoftmaxWithLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AdaptiveLogSoftmaxWithLoss";
}

ASMoutput AdaptiveLogSoftmaxWithLossImpl::forward(const Tensor& input, const Tensor& target) {
  check((input.dim() == 2 && target.dim() == 1 && input.size(0) == target.size(0)) ||
            (input.dim() == 1 && target.dim() == 0),
        "AdaptiveLogSoftmaxWithLoss: expected input [N, F] and target [N], or [F] and []\n  input  ", input,
        "\n  target ", target);
  const Tensor x = input.dim() == 1 ? input.unsqueeze(0) : input, y = target.reshape({-1});
  check(y.numel() == 0 || (y.min().item<int64_t>() >= 0 && y.max().item<int64_t>() < options.n_classes()),
        "AdaptiveLogSoftmaxWithLoss: targets must be in [0, ", options.n_classes(), "), got ", target);
  Tensor entry = y.clamp_max(shortlist_size - 1);  // of the head
  Tensor output = zeros({x.size(0)}, x.options());
  for (int64_t i = 0; i < n_clusters; ++i) {
    const int64_t low = cutoffs[static_cast<std::size_t>(i)], high = cutoffs[static_cast<std::size_t>(i) + 1];
    const Tensor rows = ((y >= low) & (y < high)).nonzero().squeeze(1);
    if (rows.numel() == 0) continue;
    const Tensor scores = tail->at<SequentialImpl>(static_cast<std::size_t>(i)).forward(x.index_select(0, rows));
    const Tensor own = (y.index_select(0, rows) - low).unsqueeze(1);
    output = output.index_copy(0, rows, log_softmax(scores, 1).gather(1, own).squeeze(1));
    entry = entry.index_copy(0, rows, full({rows.numel()}, shortlist_size + i, entry.options()));
  }
  output = output + log_softmax(head(x), 1).gather(1, entry.unsqueeze(1)).squeeze(1);
  const double loss = (-output.detach()).mean().item<double>();
  return {input.dim() == 1 ? output.squeeze(0) : output, loss};
}

Tensor AdaptiveLogSoftmaxWithLossImpl::_get_full_log_prob(const Tensor& input, const Tensor& head_output) {
  const Tensor first = log_softmax(head_output, 1);
  std::vector<Tensor> parts{first.narrow(1, 0, shortlist_size)};
  for (int64_t i = 0; i < n_clusters; ++i)
    parts.push_back(log_softmax(tail->at<SequentialImpl>(static_cast<std::size_t>(i)).forward(input), 1) +
                    first.narrow(1, shortlist_size + i, 1));
  return cat(parts, 1);
}

Tensor AdaptiveLogSoftmaxWithLossImpl::log_prob(const Tensor& input) {
  check(input.dim() == 2, "AdaptiveLogSoftmaxWithLoss: log_prob expects [N, F], got ", input);
  return _get_full_log_prob(input, head(input));
}

Tensor AdaptiveLogSoftmaxWithLossImpl::predict(const Tensor& input) {
  const Tensor x = input.dim() == 1 ? input.unsqueeze(0) : input, best = log_prob(x).argmax(1);
  return input.dim() == 1 ? best.squeeze(0) : best;
}

}  // namespace tandem::nn
