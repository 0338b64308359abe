// curve.svg: training and test accuracy (of a text: perplexity) and loss over epochs, as one self-contained image that
// is readable on light and dark backgrounds.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::cli {

struct Curves {
  std::string title;                                  ///< "lenet on fashion-mnist"
  std::string note;                                   ///< smaller, below, in one or two lines; may be empty
  std::vector<double> train_accuracy, test_accuracy;  ///< 0 to 1, one per epoch
  std::vector<double> train_loss, test_loss;          ///< nats per image or token, one per epoch
  bool of_text = false;                               ///< draws exp(loss) instead of accuracies
  int64_t kept = 0;                                   ///< the epoch whose model the run keeps, which is marked; 0: none
};

/// Values that are not finite leave gaps; empty curves produce empty axes.
std::string curve_svg(const Curves& curves);

/// Writes the image atomically. Throws Error.
void write_curve_svg(const std::string& path, const Curves& curves);

}  // namespace tandem::cli
