// The base of the steppers that run on several devices or in several processes.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "tandem/autograd/ops.h"
#include "tandem/cli/train/stepper.h"

namespace tandem::cli {

/// What steppers of several processes have in common: the sums over all of them. Losses are added in the order of the
/// pieces of the whole batch, so the sum does not depend on the processes.
class TeamStepper : public Stepper {
 public:
  StepRequest agree(const StepRequest& own) override {
    if (!exchange_) return own;
    const StepRequest agreed = take_reports();
    report_.request = own;
    exchange_->start(report_);
    pending_ = report_.examples * team_.size();
    return agreed;
  }
  void settle() override { take_reports(); }
  int64_t examples_pending() const override { return pending_; }
  double loss_sum() const override { return exchange_ ? team_loss_ : Stepper::loss_sum(); }
  int64_t finite_batches() const override { return exchange_ ? team_finite_ : Stepper::finite_batches(); }
  int64_t correct() const override { return exchange_ ? team_correct_ : Stepper::correct(); }
  void start(double loss_sum, int64_t correct) override {
    Stepper::start(loss_sum, correct);
    team_loss_ = loss_sum;
    team_finite_ = 0;
    team_correct_ = correct;
  }

 protected:
  TeamStepper(const nn::Sequential& model, const Recipe& recipe, const Placement& placement)
      : Stepper(model, recipe, placement.root), team_(placement.team) {}

  // One row per image: its loss, and whether its label has the largest score.
  static Tensor scores(const Tensor& output, const Tensor& labels) {
    const Tensor losses = cross_entropy_of(output, labels, Reduction::None);
    const Tensor correct = correct_in(output, labels).to(kDouble);
    return stack({losses.to(kDouble), correct.dim() == 2 ? correct.mean(1) : correct}, 1);
  }

  // `sums`: of the rows of each batch, zeros on all processes but one.
  Score score_of(const Tensor& sums, int64_t count) const {
    team_.sum(sums);
    double loss = 0, correct = 0;
    for (int64_t k = 0; k < sums.size(0); ++k) {
      loss += sums.data_ptr<double>()[2 * k];
      correct += sums.data_ptr<double>()[2 * k + 1];
    }
    return {loss / static_cast<double>(count), correct / static_cast<double>(count)};
  }

  // The loss of a piece of a batch, whose correct predictions are added to `correct`.
  Tensor scaled_loss(const Tensor& output, const Tensor& labels, const GroupPlace& place, const Tensor& correct) {
    {
      const NoGradGuard no_grad;
      Tensor(correct).add_(correct_in(output.detach(), labels).sum());
    }
    const Tensor mean = loss_of(output, labels);
    return scaler_.scale(place.alone() ? mean : mean * place.share);
  }

  // Keeps the figures of a step, whose losses have been multiplied by `scale`, for agree().
  void report(const parallel::StepResult& result, int64_t examples, double scale) {
    report_ = {.request = {}, .examples = examples, .correct = 0, .losses = {}, .weights = result.weights};
    for (const Tensor& loss : result.losses) report_.losses.push_back(loss.item<double>() / scale);
  }

  // Of one process.
  int64_t most_pieces(const Placement& placement) const {
    if (placement.shards > 0) return placement.shards / team_.size() + 1;
    return static_cast<int64_t>(placement.devices.size());
  }

  StepRequest take_reports() {
    StepRequest agreed;
    if (!exchange_ || !exchange_->pending()) return agreed;
    const std::vector<StepReport> reports = exchange_->finish();
    int64_t examples = 0;
    for (const StepReport& r : reports) examples += r.examples;
    bool finite = true;
    for (const StepReport& r : reports) {
      agreed = {std::max(agreed.stop, r.request.stop), agreed.save || r.request.save};
      team_correct_ += r.correct;
      for (std::size_t i = 0; i < r.losses.size(); ++i) {
        finite = finite && std::isfinite(r.losses[i]);
        if (!scaler_.is_enabled() || std::isfinite(r.losses[i]))
          team_loss_ += r.losses[i] * (r.weights[i] * static_cast<double>(examples));
      }
    }
    team_finite_ += scaler_.is_enabled() ? finite : std::isfinite(team_loss_);
    pending_ = 0;
    return agreed;
  }

  const Team team_;
  std::optional<StepExchange> exchange_;  // with the other processes
  StepReport report_;                     // of the last step

 private:
  double team_loss_ = 0;
  int64_t team_correct_ = 0, team_finite_ = 0, pending_ = 0;
};

/// A stepper for placement.fully_sharded.
std::unique_ptr<Stepper> make_sharded_stepper(const nn::Sequential& model, const Recipe& recipe,
                                              const Placement& placement);

}  // namespace tandem::cli
