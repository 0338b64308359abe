// The base of elementwise operations.
#pragma once
#include "tandem/core/base/host_device.h"
#include "tandem/core/base/literal.h"
#include "tandem/core/element_types.h"

namespace tandem::ops {

/// What the forward saves for gradient(), which takes it as its second argument.
enum class Saves { kNothing, kInput, kOutput };

/// The operation's name in errors and profiles, the types that it is computed in, and what its derivative needs.
template <Literal text, class List, Saves what = Saves::kNothing>
struct Elementwise {
  static constexpr auto literal = text;
  static constexpr const char* name = literal.text;
  using Types = List;
  static constexpr Saves saves = what;
};

}  // namespace tandem::ops
