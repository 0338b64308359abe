// RandAugment (Cubuk et al., 2019): some of fourteen changes of shape and colour, drawn for each image. As
// torchvision's transforms.RandAugment on Pillow's images, with the nearest pixel and black beyond the edges.
#pragma once
#include "tandem/datasets/vision/transforms.h"

namespace tandem::vision::transforms {

/// For uint8 images with 1 or 3 channels. Each of `operations` changes is drawn from: none, shear and shift in both
/// directions, rotation, brightness, colour, contrast, sharpness, posterize, solarize, autocontrast and equalize. The
/// strength is number `magnitude` of `bins` from none to most; of shapes and colours the direction is drawn. Throws
/// Error unless operations >= 0 and 0 <= magnitude < bins.
class RandAugment : public ImageTransform {
 public:
  explicit RandAugment(int64_t operations = 2, int64_t magnitude = 9, int64_t bins = 31);
  Tensor transformed(const Tensor& image, RandomStream& random) const override;

 private:
  int64_t operations_, magnitude_, bins_;
};

}  // namespace tandem::vision::transforms
