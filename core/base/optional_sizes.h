// OptionalSizes: a parameter for sizes or dimensions that may be missing. Unlike optional<IntArrayRef> it takes a list
// in braces, whose elements live until the call returns.
#pragma once
#include <optional>
#include <vector>

#include "tandem/core/base/array_ref.h"

namespace tandem {

class OptionalSizes {
 public:
  constexpr OptionalSizes() = default;
  constexpr OptionalSizes(std::nullopt_t) {}
  constexpr OptionalSizes(IntArrayRef sizes) : sizes_(sizes) {}
  constexpr OptionalSizes(std::optional<IntArrayRef> sizes) : sizes_(sizes) {}
  constexpr OptionalSizes(const int64_t& one) : sizes_(IntArrayRef(one)) {}
  constexpr OptionalSizes(std::initializer_list<int64_t> sizes) : sizes_(IntArrayRef(sizes.begin(), sizes.size())) {}
  OptionalSizes(const std::vector<int64_t>& sizes) : sizes_(IntArrayRef(sizes)) {}

  constexpr bool has_value() const { return sizes_.has_value(); }
  constexpr const IntArrayRef& operator*() const { return *sizes_; }
  constexpr const IntArrayRef* operator->() const { return &*sizes_; }

 private:
  std::optional<IntArrayRef> sizes_;
};

}  // namespace tandem
