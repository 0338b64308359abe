// ONNX models: what is read, checked and computed ahead when a model is loaded.
#include "tandem/onnx/onnx.h"

#include "tandem/core/error.h"
#include "tandem/tests/fuzz/fuzz.h"

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  try {
    onnx::parse(data, size, "input");
    return true;
  } catch (const Error&) {
    return false;
  }
}
