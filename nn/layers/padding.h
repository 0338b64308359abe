// Padding layers: ReflectionPad, ReplicationPad, ZeroPad and ConstantPad for the last one, two or
// three dimensions. Padding is (left, right), (left, right, top, bottom) or (left, right, top, bottom, front, back), or
// one number for all sides.
#pragma once
#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/padding.h"

namespace tandem::nn {

TANDEM_SIZED_LAYER(ReflectionPad1d, (ExpandingArray<2> padding), (padding));
TANDEM_MODULE(ReflectionPad1d);
TANDEM_SIZED_LAYER(ReflectionPad2d, (ExpandingArray<4> padding), (padding));
TANDEM_MODULE(ReflectionPad2d);
TANDEM_SIZED_LAYER(ReflectionPad3d, (ExpandingArray<6> padding), (padding));
TANDEM_MODULE(ReflectionPad3d);
TANDEM_SIZED_LAYER(ReplicationPad1d, (ExpandingArray<2> padding), (padding));
TANDEM_MODULE(ReplicationPad1d);
TANDEM_SIZED_LAYER(ReplicationPad2d, (ExpandingArray<4> padding), (padding));
TANDEM_MODULE(ReplicationPad2d);
TANDEM_SIZED_LAYER(ReplicationPad3d, (ExpandingArray<6> padding), (padding));
TANDEM_MODULE(ReplicationPad3d);
TANDEM_SIZED_LAYER(ZeroPad1d, (ExpandingArray<2> padding), (padding));
TANDEM_MODULE(ZeroPad1d);
TANDEM_SIZED_LAYER(ZeroPad2d, (ExpandingArray<4> padding), (padding));
TANDEM_MODULE(ZeroPad2d);
TANDEM_SIZED_LAYER(ZeroPad3d, (ExpandingArray<6> padding), (padding));
TANDEM_MODULE(ZeroPad3d);
TANDEM_SIZED_LAYER(ConstantPad1d, (ExpandingArray<2> padding, double value), (padding, value));
TANDEM_MODULE(ConstantPad1d);
TANDEM_SIZED_LAYER(ConstantPad2d, (ExpandingArray<4> padding, double value), (padding, value));
TANDEM_MODULE(ConstantPad2d);
TANDEM_SIZED_LAYER(ConstantPad3d, (ExpandingArray<6> padding, double value), (padding, value));
TANDEM_MODULE(ConstantPad3d);

}  // namespace tandem::nn
