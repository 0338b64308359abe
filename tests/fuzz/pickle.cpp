// The pickles in .pt files, with storages of up to 1,000 elements.
#include "tandem/nn/files/pt/pickle.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/tests/fuzz/fuzz.h"

bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  const std::string file = "input";
  const serialize::pt::StorageReader storages = [](const serialize::pt::StorageInfo& info) {
    check(info.numel <= 1000, "input: lacks the storage ", info.key);
    return zeros({info.numel}, TensorOptions(info.dtype));
  };
  try {
    serialize::pt::PickleMachine machine({reinterpret_cast<const char*>(data), size}, file, storages);
    serialize::pt::value_of(machine.run(), file);
    machine.resolve();
    return true;
  } catch (const Error&) {
    return false;
  }
}
