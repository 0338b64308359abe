// The version of Tandem's headers. It equals the project's in meson.build.
#pragma once

#define TANDEM_VERSION_MAJOR 0
#define TANDEM_VERSION_MINOR 2
#define TANDEM_VERSION_PATCH 0
#define TANDEM_VERSION "0.2.0"
