// The version of Tandem's headers. It is also that of the project in meson.build.
#pragma once

#define TANDEM_VERSION_MAJOR 0
#define TANDEM_VERSION_MINOR 2
#define TANDEM_VERSION_PATCH 0
#define TANDEM_VERSION "0.2.0"
