// Tensors from literal values.
#include "tandem/autograd/ops/factories/tensor_literal.h"

#include "tandem/autograd/ops/factories/factories.h"

namespace tandem {

TensorLiteral::TensorLiteral(const std::vector<bool>& values) : kind_(Kind::kRun), type_(kBool), size_(values.size()) {
  owned_ = empty_raw({static_cast<int64_t>(size_)}, kBool, Device(kCPU, 0));
  for (std::size_t i = 0; i < size_; ++i) owned_.ptr<bool>()[i] = values[i];
  data_ = owned_.data_ptr();
}

ScalarType TensorLiteral::type() const {
  if (kind_ != Kind::kList) return type_;
  ScalarType out = ScalarType::Undefined;
  for (std::size_t i = 0; i < size_; ++i) out = promote_types(out, child(i)->type());
  return out;
}

Dims TensorLiteral::sizes() const {
  Dims out;
  for (const TensorLiteral* at = this; at->kind_ != Kind::kNumber; at = at->child(0)) {
    out.push_back(static_cast<int64_t>(at->size_));
    if (at->kind_ == Kind::kRun || at->size_ == 0) break;
  }
  check_sizes(out, 0);
  return out;
}

void TensorLiteral::check_sizes(const Dims& sizes, std::size_t depth) const {
  if (kind_ == Kind::kNumber) {
    check(depth == sizes.size(), "tensor: expected a list, got a number at depth ", depth);
    return;
  }
  check(depth < sizes.size(), "tensor: expected a number, got a list at depth ", depth);
  check(static_cast<int64_t>(size_) == sizes[depth], "tensor: lists differ in length: one at depth ", depth, " has ",
        size_, " elements, the first one has ", sizes[depth]);
  if (kind_ == Kind::kRun)
    check(depth + 1 == sizes.size(), "tensor: expected lists, got numbers at depth ", depth + 1);
  else
    for (std::size_t i = 0; i < size_; ++i) child(i)->check_sizes(sizes, depth + 1);
}

template <class T>
void TensorLiteral::write(T*& out) const {
  switch (kind_) {
    case Kind::kNumber:
      *out++ = number_.to<T>();
      break;
    case Kind::kList:
      for (std::size_t i = 0; i < size_; ++i) child(i)->write(out);
      break;
    case Kind::kRun:
      dispatch(type_, StoredTypes{}, "tensor", [&]<class From>(Type<From>) {
        for (std::size_t i = 0; i < size_; ++i) *out++ = Scalar(static_cast<const From*>(data_)[i]).template to<T>();
      });
  }
}

Tensor tensor(const TensorLiteral& value, const TensorOptions& options) {
  ScalarType type = value.type();
  if (options.has_dtype())
    type = options.dtype();
  else if (type == kInt)
    type = kLong;
  else if (type == kFloat || type == kDouble || type == ScalarType::Undefined)
    type = get_default_dtype();
  Tensor out = empty_raw(value.sizes(), type, Device(kCPU, 0));
  dispatch(type, StoredTypes{}, "tensor", [&]<class T>(Type<T>) {
    T* to = out.ptr<T>();
    value.write(to);
  });
  out = out.to(options.resolved_device());
  if (options.requires_grad()) out.requires_grad_();
  return out;
}

Tensor scalar_tensor(const Scalar& value, const TensorOptions& options) {
  return full({}, value, options.dtype(options.dtype()));
}

}  // namespace tandem
