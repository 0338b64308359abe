#include "tandem/cli/train/step_exchange.h"

#include "tandem/autograd/ops.h"

namespace tandem::cli {
namespace {

enum Entry { kStop, kSave, kExamples, kCorrect, kPieces, kFirst };  // then a loss and a weight for each piece

}  // namespace

StepExchange::StepExchange(const Team& team, int64_t max_pieces)
    : team_(team),
      max_pieces_(max_pieces),
      own_(zeros({1, kFirst + 2 * max_pieces}, kDouble)),
      all_(zeros({team.size(), kFirst + 2 * max_pieces}, kDouble)) {}

void StepExchange::start(const StepReport& own) {
  const auto pieces = static_cast<int64_t>(own.losses.size());
  check(pieces <= max_pieces_ && own.weights.size() == own.losses.size(), "StepExchange: ", pieces,
        " pieces, expected at most ", max_pieces_);
  double* entry = own_.data_ptr<double>();
  entry[kStop] = own.request.stop;
  entry[kSave] = own.request.save ? 1 : 0;
  entry[kExamples] = static_cast<double>(own.examples);
  entry[kCorrect] = static_cast<double>(own.correct);
  entry[kPieces] = static_cast<double>(pieces);
  for (std::size_t i = 0; i < own.losses.size(); ++i) {
    entry[kFirst + 2 * i] = own.losses[i];
    entry[kFirst + 2 * i + 1] = own.weights[i];
  }
  work_ = team_.group()->all_gather(all_, own_);
}

std::vector<StepReport> StepExchange::finish() {
  work_->wait();
  work_.reset();
  std::vector<StepReport> out;
  for (int r = 0; r < team_.size(); ++r) {
    const double* entry = all_.data_ptr<double>() + r * all_.size(1);
    const double pieces = entry[kPieces];
    check(pieces >= 0 && pieces <= static_cast<double>(max_pieces_), "StepExchange: rank ", r, " sent ", pieces,
          " pieces, expected at most ", max_pieces_);
    StepReport report{{static_cast<int>(entry[kStop]), entry[kSave] != 0},
                      static_cast<int64_t>(entry[kExamples]),
                      static_cast<int64_t>(entry[kCorrect]),
                      {},
                      {}};
    for (int64_t i = 0; i < static_cast<int64_t>(pieces); ++i) {
      report.losses.push_back(entry[kFirst + 2 * i]);
      report.weights.push_back(entry[kFirst + 2 * i + 1]);
    }
    out.push_back(std::move(report));
  }
  return out;
}

}  // namespace tandem::cli
