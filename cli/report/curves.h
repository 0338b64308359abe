// What the names of a run's figures say, and the panels of curves that they form.
#pragma once
#include <string>

namespace tandem::cli {

/// "train", "test" or "validation" for a name that begins with one of them (or val, valid); else "".
std::string part_of(const std::string& name);
/// The rest of the name: "loss" of "test_loss".
std::string quantity_of(const std::string& name);
/// 1 if larger values are better (accuracies), -1 if smaller ones are (losses, perplexities, errors), else 0.
int better_direction(const std::string& name);
/// Whether it is of the model itself, in a run whose moving average is the result.
bool is_without_average(const std::string& name);
/// A value for reading: "91.62 %" for an accuracy, else four or more digits.
std::string figure_text(const std::string& name, double value);

}  // namespace tandem::cli
