// curve.svg: accuracy and loss over epochs, training and test, as one self-contained picture that is readable
// on light and on dark ground.
#pragma once
#include <string>
#include <vector>

namespace tandem::cli {

struct Curves {
  std::string title;                                  ///< "lenet on fashion-mnist"
  std::string note;                                   ///< a second, smaller line; may be empty
  std::vector<double> train_accuracy, test_accuracy;  ///< 0 to 1, one an epoch
  std::vector<double> train_loss, test_loss;          ///< nats an image, one an epoch
};

/// Values that are not finite leave a gap; empty curves leave empty axes.
std::string curve_svg(const Curves& curves);

/// Writes it atomically. Throws Error.
void write_curve_svg(const std::string& path, const Curves& curves);

}  // namespace tandem::cli
