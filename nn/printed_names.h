// The namespace in which modules print their names.
#pragma once
#include <string>

namespace tandem::nn {

/// From now on, modules print as torch::nn::Linear and so on, and Module::name() is that of LibTorch, in the whole
/// process. <torch/torch.h> calls it when a program starts, because tests and logs of ported programs have these names.
/// Returns true.
bool print_torch_names();

namespace detail {
/// The text with the names that are printed.
std::string with_printed_names(std::string text);
}  // namespace detail
}  // namespace tandem::nn
