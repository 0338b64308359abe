// The file of a FileStore.
#include "tandem/parallel/distributed/store_log.h"

#include "tandem/core/error.h"
#include "tandem/tests/fuzz/fuzz.h"

// A valid file consists of whole records.
bool tandem::fuzz::accepts(const uint8_t* data, std::size_t size) {
  using namespace distributed::detail;
  const Bytes bytes(data, size);
  std::size_t used = kLogMagic.size();
  if (size < used || std::string_view(reinterpret_cast<const char*>(data), used) != kLogMagic) return false;
  try {
    for (std::size_t more = 1; more > 0; used += more) {
      Record record;
      more = parse_record(bytes.subspan(used), record);
      // Two encodings of the same record would be a sign of bytes that nobody checked.
      if (more > 0 && encode(record) != std::string_view(reinterpret_cast<const char*>(data) + used, more))
        __builtin_trap();
    }
    return used == size;
  } catch (const Error&) {
    return false;
  }
}
