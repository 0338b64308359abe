// Where the library itself is: its plugins are installed beside it.
#pragma once
#include <string>

namespace tandem::detail {

/// The folder of the library, or of the program if the library is linked into it. Empty if it is unknown.
std::string library_folder();

}  // namespace tandem::detail
