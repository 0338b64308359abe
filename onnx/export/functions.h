// The functions of the domain "tandem": operations for which ONNX has no operator. A file that calls one has its
// definition in ONNX's operators, so any program can run it; Tandem calls its own operation instead, for the same bits.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tandem::onnx::exporter {

inline constexpr const char* kDomain = "tandem";
inline constexpr int64_t kDomainVersion = 1;

/// A function and its body, one node a line:
///
///     y, i = Op(a, b) {axis=1, scale=@scale}
///     half = Constant {value_float=0.5}
///
/// A number among a node's inputs is a constant of the type of the function's first input; `@scale` is the function's
/// attribute of that name.
struct Function {
  const char* name;
  const char* operation;  ///< what it is in Tandem
  std::vector<const char*> inputs, outputs;
  std::vector<const char*> attributes;  ///< their types are those where the body has them
  const char* body;
};

const std::vector<Function>& functions();
/// nullptr if there is none.
const Function* find_function(std::string_view name);

}  // namespace tandem::onnx::exporter
