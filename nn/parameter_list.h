// ParameterList: parameters by index, which is also their registered name.
#pragma once
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"

namespace tandem::nn {

class ParameterListImpl : public Cloneable<ParameterListImpl> {
 public:
  ParameterListImpl() = default;
  explicit ParameterListImpl(const std::vector<Tensor>& parameters) { extend(parameters); }

  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  /// The parameter keeps its requires_grad.
  void append(const Tensor& parameter);
  void extend(const std::vector<Tensor>& parameters) {
    for (const Tensor& p : parameters) append(p);
  }
  /// Throws IndexError when the index is out of range.
  const Tensor& operator[](std::size_t index) const;
  const Tensor& at(std::size_t index) const { return (*this)[index]; }
  std::size_t size() const noexcept { return values_.size(); }
  bool is_empty() const noexcept { return values_.empty(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::vector<Tensor> values_;
};
TANDEM_MODULE(ParameterList);

}  // namespace tandem::nn
