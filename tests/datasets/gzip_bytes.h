// Compresses a string with gzip, to build test files in memory.
#pragma once
#include <zlib.h>

#include <string>

namespace tandem::test {

inline std::string gzip_bytes(const std::string& content) {
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, content.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.erase(out.size() - z.avail_out);
  deflateEnd(&z);
  return out;
}

}  // namespace tandem::test
