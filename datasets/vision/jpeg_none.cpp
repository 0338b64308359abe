// Stands in for jpeg_codec.cpp in a build without libjpeg.
#include "tandem/core/error.h"
#include "tandem/datasets/vision/pixels.h"

namespace tandem::vision {

bool has_jpeg() { return false; }

namespace detail {

Pixels decode_jpeg(std::string_view, const std::string& name, const DecodeOptions&) {
  fail(name, ": a JPEG, but this build has no libjpeg; install libjpeg62-turbo-dev and build again");
}
std::string encode_jpeg(const Pixels&, int) {
  fail("encode_jpeg: this build has no libjpeg; install libjpeg62-turbo-dev and build again");
}

}  // namespace detail
}  // namespace tandem::vision
