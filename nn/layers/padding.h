// Padding layers: ReflectionPad, ReplicationPad, ZeroPad and ConstantPad for the last one, two or
// three dimensions. Padding is (left, right), (left, right, top, bottom) or (left, right, top, bottom, front, back), or
// one number for all sides.
#pragma once
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/options/padding.h"

namespace tandem::nn {

class ReflectionPad1dImpl : public detail::Optioned<ReflectionPad1dImpl, ReflectionPad1dOptions> {
 public:
  ReflectionPad1dImpl(ExpandingArray<2> padding) : ReflectionPad1dImpl(ReflectionPad1dOptions(padding)) {}
  explicit ReflectionPad1dImpl(const ReflectionPad1dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ReflectionPad1d);

class ReflectionPad2dImpl : public detail::Optioned<ReflectionPad2dImpl, ReflectionPad2dOptions> {
 public:
  ReflectionPad2dImpl(ExpandingArray<4> padding) : ReflectionPad2dImpl(ReflectionPad2dOptions(padding)) {}
  explicit ReflectionPad2dImpl(const ReflectionPad2dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ReflectionPad2d);

class ReflectionPad3dImpl : public detail::Optioned<ReflectionPad3dImpl, ReflectionPad3dOptions> {
 public:
  ReflectionPad3dImpl(ExpandingArray<6> padding) : ReflectionPad3dImpl(ReflectionPad3dOptions(padding)) {}
  explicit ReflectionPad3dImpl(const ReflectionPad3dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ReflectionPad3d);

class ReplicationPad1dImpl : public detail::Optioned<ReplicationPad1dImpl, ReplicationPad1dOptions> {
 public:
  ReplicationPad1dImpl(ExpandingArray<2> padding) : ReplicationPad1dImpl(ReplicationPad1dOptions(padding)) {}
  explicit ReplicationPad1dImpl(const ReplicationPad1dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ReplicationPad1d);

class ReplicationPad2dImpl : public detail::Optioned<ReplicationPad2dImpl, ReplicationPad2dOptions> {
 public:
  ReplicationPad2dImpl(ExpandingArray<4> padding) : ReplicationPad2dImpl(ReplicationPad2dOptions(padding)) {}
  explicit ReplicationPad2dImpl(const ReplicationPad2dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ReplicationPad2d);

class ReplicationPad3dImpl : public detail::Optioned<ReplicationPad3dImpl, ReplicationPad3dOptions> {
 public:
  ReplicationPad3dImpl(ExpandingArray<6> padding) : ReplicationPad3dImpl(ReplicationPad3dOptions(padding)) {}
  explicit ReplicationPad3dImpl(const ReplicationPad3dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ReplicationPad3d);

class ZeroPad1dImpl : public detail::Optioned<ZeroPad1dImpl, ZeroPad1dOptions> {
 public:
  ZeroPad1dImpl(ExpandingArray<2> padding) : ZeroPad1dImpl(ZeroPad1dOptions(padding)) {}
  explicit ZeroPad1dImpl(const ZeroPad1dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ZeroPad1d);

class ZeroPad2dImpl : public detail::Optioned<ZeroPad2dImpl, ZeroPad2dOptions> {
 public:
  ZeroPad2dImpl(ExpandingArray<4> padding) : ZeroPad2dImpl(ZeroPad2dOptions(padding)) {}
  explicit ZeroPad2dImpl(const ZeroPad2dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ZeroPad2d);

class ZeroPad3dImpl : public detail::Optioned<ZeroPad3dImpl, ZeroPad3dOptions> {
 public:
  ZeroPad3dImpl(ExpandingArray<6> padding) : ZeroPad3dImpl(ZeroPad3dOptions(padding)) {}
  explicit ZeroPad3dImpl(const ZeroPad3dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ZeroPad3d);

class ConstantPad1dImpl : public detail::Optioned<ConstantPad1dImpl, ConstantPad1dOptions> {
 public:
  ConstantPad1dImpl(ExpandingArray<2> padding, double value)
      : ConstantPad1dImpl(ConstantPad1dOptions(padding, value)) {}
  explicit ConstantPad1dImpl(const ConstantPad1dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ConstantPad1d);

class ConstantPad2dImpl : public detail::Optioned<ConstantPad2dImpl, ConstantPad2dOptions> {
 public:
  ConstantPad2dImpl(ExpandingArray<4> padding, double value)
      : ConstantPad2dImpl(ConstantPad2dOptions(padding, value)) {}
  explicit ConstantPad2dImpl(const ConstantPad2dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ConstantPad2d);

class ConstantPad3dImpl : public detail::Optioned<ConstantPad3dImpl, ConstantPad3dOptions> {
 public:
  ConstantPad3dImpl(ExpandingArray<6> padding, double value)
      : ConstantPad3dImpl(ConstantPad3dOptions(padding, value)) {}
  explicit ConstantPad3dImpl(const ConstantPad3dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(ConstantPad3d);

}  // namespace tandem::nn
