// A user's program that turns an image: links tandem_vision, too.
#include <tandem/datasets/vision/image_file.h>
#include <tandem/datasets/vision/image_folder.h>
#include <tandem/tandem.h>

#include <cstdio>

int main() {
  using namespace tandem::vision::transforms;
  const std::string file = tandem::vision::encode_png(tandem::full({3, 40, 60}, 7, tandem::kByte));
  Compose transform({Resize(20), RandomHorizontalFlip(), CenterCrop(16), ConvertImageDtype()});
  const tandem::Tensor image = transform(tandem::vision::decode_image(file, "image"));
  std::printf("%lld %lld %lld\n", static_cast<long long>(image.size(0)), static_cast<long long>(image.size(1)),
              static_cast<long long>(image.size(2)));
}
