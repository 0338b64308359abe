#include "tandem/parallel/parameter_server/gradient_reduction.h"

#include <algorithm>

namespace tandem::parallel {

GradientReduction::GradientReduction(const Replicas& replicas, std::size_t root, const ServerOptions& options,
                                     const char* kind)
    : leaf(replicas[root]->flat.as_parameter()), kind(kind), replicas_(replicas), root_(root), options_(options) {
  leaf.mutable_grad().reset();
}

void GradientReduction::drop(bool /*failed*/) {
  for (const auto& replica : replicas_) replica->forget_gradients();
  leaf.mutable_grad().reset();
  accumulating_ = false;
}

std::vector<int64_t> GradientReduction::cut(int64_t samples, std::size_t parts) const {
  return piece_sizes(samples, static_cast<int64_t>(parts), options_.chunks);
}

void GradientReduction::set_pieces(const std::vector<int64_t>& sizes, int64_t first, int64_t whole) {
  pieces_ = make_pieces(sizes, first, whole, options_.loss);
  used_ = std::min(pieces_.size(), replicas_.size());
  for (std::size_t i = used_; i < replicas_.size() && !accumulating_; ++i) replicas_[i]->forget_gradients();
}

double GradientReduction::share(int64_t a, int64_t b) const { return loss_share(options_.loss, a, b); }

}  // namespace tandem::parallel
