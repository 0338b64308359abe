// Tensors from literal values.
#include "tandem/autograd/ops/factories/tensor_literal.h"

#include <ostream>
#include <sstream>

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
  if (kind_ == Kind::kNumber) return {};
  Dims out;
  if (kind_ == Kind::kList && size_ > 0) {
    out = child(0)->sizes();
    for (std::size_t i = 1; i < size_; ++i) {
      const Dims other = child(i)->sizes();
      if (other == out) continue;
      std::ostringstream text;
      const auto write = [&](const Dims& sizes) {
        for (const int64_t size : sizes) text << ' ' << size;
      };
      text << "Expected all sub-lists to have sizes:";
      write(out);
      text << " (e.g. " << *child(0) << "), but got sub-list " << *child(i) << " with sizes:";
      write(other);
      throw Error(text.str());
    }
  }
  out.insert(0, static_cast<int64_t>(size_));
  return out;
}

void TensorLiteral::expect(Kind kind, const char* what) const {
  check(kind_ == kind, "Can only call `", what, "()` on a TensorDataContainer that has `is_", what, "() == true`");
}
const Scalar& TensorLiteral::scalar() const {
  expect(Kind::kNumber, "scalar");
  return number_;
}
ArrayRef<TensorLiteral> TensorLiteral::init_list() const {
  expect(Kind::kList, "init_list");
  return {child(0), size_};
}
Tensor TensorLiteral::tensor() const {
  expect(Kind::kRun, "tensor");
  return tandem::tensor(*this, type_);
}

std::ostream& operator<<(std::ostream& out, const TensorLiteral& value) {
  if (value.is_scalar()) return out << value.number_;
  out << '{';
  for (std::size_t i = 0; i < value.size_; ++i) {
    if (i > 0) out << ", ";
    if (value.is_init_list())
      out << *value.child(i);
    else
      dispatch(value.type_, StoredTypes{}, "tensor",
               [&]<class T>(Type<T>) { out << Scalar(static_cast<const T*>(value.data_)[i]); });
  }
  return out << '}';
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
  check(value.is_scalar() || is_complex(type) || type == kBool || !is_complex(value.type()),
        "can not do torch::tensor(complex, dtype=non-complex) because complex can not be casted to real number without "
        "loss of information");
  Tensor out = empty_raw(value.sizes(), type, Device(kCPU, 0));
  dispatch(type, StoredTypes{}, "tensor", [&]<class T>(Type<T>) {
    T* to = out.ptr<T>();
    value.write(to);
  });
  return out.to(options.resolved_device()).requires_grad_(options.requires_grad());
}

Tensor scalar_tensor(const Scalar& value, const TensorOptions& options) {
  return full({}, value, options.dtype(options.dtype()));
}

}  // namespace tandem
