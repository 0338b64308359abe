// Internal: the check that all functions on images share, and the errors of image files.
#pragma once
#include <string>
#include <string_view>

#include "tandem/core/error.h"
#include "tandem/core/tensor.h"

namespace tandem::vision::detail {

/// Throws Error unless the tensor is a CPU image [C, H, W] with at least one pixel.
void check_image(const Tensor& image, const char* function);

/// Whether memory for a tensor was missing, which is not the fault of a file. Such an error has no separate class.
inline bool is_out_of_memory(const Error& error) { return std::string_view(error.what()).starts_with("out of memory"); }

/// Calls f. Throws Error with the path in front of what f threw, except what is_out_of_memory.
template <class F>
auto naming(const std::string& path, const F& f) try {
  return f();
} catch (const Error& error) {
  if (is_out_of_memory(error)) throw;
  fail(path, ": ", error.what());
}

}  // namespace tandem::vision::detail
