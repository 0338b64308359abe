// Lists and dictionaries of values, with the types that LibTorch's constructors take. Types are not kept: values know
// their own.
#pragma once
#include <memory>

#include "tandem/tandem.h"

namespace torch {

struct Type {};
using TypePtr = std::shared_ptr<Type>;
#define TANDEM_COMPAT_TYPE_OF_VALUES(Name) \
  struct Name : Type {                     \
    static TypePtr get() { return {}; }    \
  };
TANDEM_COMPAT_TYPE_OF_VALUES(AnyType)
TANDEM_COMPAT_TYPE_OF_VALUES(BoolType)
TANDEM_COMPAT_TYPE_OF_VALUES(FloatType)
TANDEM_COMPAT_TYPE_OF_VALUES(IntType)
TANDEM_COMPAT_TYPE_OF_VALUES(NumberType)
TANDEM_COMPAT_TYPE_OF_VALUES(StringType)
TANDEM_COMPAT_TYPE_OF_VALUES(TensorType)
#undef TANDEM_COMPAT_TYPE_OF_VALUES

}  // namespace torch
namespace c10::impl {
class GenericList : public tandem::List<tandem::IValue> {
 public:
  explicit GenericList(const torch::TypePtr&) {}
  GenericList(tandem::List<tandem::IValue> elements) : List(std::move(elements)) {}
};
class GenericDict : public tandem::GenericDict {
 public:
  GenericDict(const torch::TypePtr& /*keys*/, const torch::TypePtr& /*values*/) {}
  GenericDict(tandem::GenericDict entries) : Dict(std::move(entries)) {}
};
}  // namespace c10::impl
